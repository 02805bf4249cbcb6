# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Generated from include/*.h by scripts/python-gen. Do not edit.
"""Structures, constants and functions of <dispatchkey.h>, for ctypes."""
import ctypes as c
from typing import Any as _Any, Dict as _Dict, List as _List, Tuple as _Tuple

VERSION = "0.1.0"
ABI_VERSION = 1
NAME_MAX = 128

DK_BACKEND_INVALID = 0
DK_BACKEND_CPU = 1
DK_BACKEND_CUDA = 2
DK_BACKEND_HIP = 3
DK_BACKEND_XLA = 4
DK_BACKEND_MPS = 5
DK_BACKEND_IPU = 6
DK_BACKEND_XPU = 7
DK_BACKEND_HPU = 8
DK_BACKEND_VE = 9
DK_BACKEND_LAZY = 10
DK_BACKEND_MTIA = 11
DK_BACKEND_MAIA = 12
DK_BACKEND_PRIVATEUSE1 = 13
DK_BACKEND_PRIVATEUSE2 = 14
DK_BACKEND_PRIVATEUSE3 = 15
DK_BACKEND_META = 16
DK_UNDEFINED = 0
DK_DENSE = 1
DK_FPGA = 2
DK_VULKAN = 3
DK_METAL = 4
DK_QUANTIZED = 5
DK_CUSTOM_RNG_KEY_ID = 6
DK_MKLDNN_CPU = 7
DK_SPARSE = 8
DK_SPARSE_CSR = 9
DK_NESTED_TENSOR = 10
DK_BACKEND_SELECT = 11
DK_FAKE = 12
DK_PYTHON = 13
DK_FUNCTORCH_DYNAMIC_LAYER_BACK_MODE = 14
DK_FUNCTIONALIZE = 15
DK_CONJUGATE = 16
DK_NEGATIVE = 17
DK_ZERO_TENSOR = 18
DK_ADINPLACE_OR_VIEW = 19
DK_AUTOGRAD_OTHER = 20
DK_AUTOGRAD_FUNCTIONALITY = 21
DK_AUTOGRAD_NESTED_TENSOR = 22
DK_TRACER = 23
DK_AUTOCAST_CPU = 24
DK_AUTOCAST_MTIA = 25
DK_AUTOCAST_MAIA = 26
DK_AUTOCAST_XPU = 27
DK_AUTOCAST_IPU = 28
DK_AUTOCAST_HPU = 29
DK_AUTOCAST_XLA = 30
DK_AUTOCAST_MPS = 31
DK_AUTOCAST_CUDA = 32
DK_AUTOCAST_PRIVATEUSE1 = 33
DK_FUNCTORCH_BATCHED = 34
DK_BATCHED_NESTED_TENSOR = 35
DK_FUNCTORCH_VMAP_MODE = 36
DK_BATCHED = 37
DK_VMAP_MODE = 38
DK_FUNCTORCH_GRAD_WRAPPER = 39
DK_DEFERRED_INIT = 40
DK_PYTHON_TLS_SNAPSHOT = 41
DK_FUNCTORCH_DYNAMIC_LAYER_FRONT_MODE = 42
DK_TESTING_ONLY_GENERIC_WRAPPER = 43
DK_TESTING_ONLY_GENERIC_MODE = 44
DK_PRE_DISPATCH = 45
DK_PYTHON_DISPATCHER = 46
DK_END_OF_FUNCTIONALITY_KEYS = 47
DK_START_OF_DENSE_BACKENDS = 48
DK_CPU = 49
DK_CUDA = 50
DK_HIP = 51
DK_XLA = 52
DK_MPS = 53
DK_IPU = 54
DK_XPU = 55
DK_HPU = 56
DK_VE = 57
DK_LAZY = 58
DK_MTIA = 59
DK_MAIA = 60
DK_PRIVATEUSE1 = 61
DK_PRIVATEUSE2 = 62
DK_PRIVATEUSE3 = 63
DK_META = 64
DK_START_OF_QUANTIZED_BACKENDS = 65
DK_QUANTIZED_CPU = 66
DK_QUANTIZED_CUDA = 67
DK_QUANTIZED_HIP = 68
DK_QUANTIZED_XLA = 69
DK_QUANTIZED_MPS = 70
DK_QUANTIZED_IPU = 71
DK_QUANTIZED_XPU = 72
DK_QUANTIZED_HPU = 73
DK_QUANTIZED_VE = 74
DK_QUANTIZED_LAZY = 75
DK_QUANTIZED_MTIA = 76
DK_QUANTIZED_MAIA = 77
DK_QUANTIZED_PRIVATEUSE1 = 78
DK_QUANTIZED_PRIVATEUSE2 = 79
DK_QUANTIZED_PRIVATEUSE3 = 80
DK_QUANTIZED_META = 81
DK_START_OF_SPARSE_BACKENDS = 82
DK_SPARSE_CPU = 83
DK_SPARSE_CUDA = 84
DK_SPARSE_HIP = 85
DK_SPARSE_XLA = 86
DK_SPARSE_MPS = 87
DK_SPARSE_IPU = 88
DK_SPARSE_XPU = 89
DK_SPARSE_HPU = 90
DK_SPARSE_VE = 91
DK_SPARSE_LAZY = 92
DK_SPARSE_MTIA = 93
DK_SPARSE_MAIA = 94
DK_SPARSE_PRIVATEUSE1 = 95
DK_SPARSE_PRIVATEUSE2 = 96
DK_SPARSE_PRIVATEUSE3 = 97
DK_SPARSE_META = 98
DK_START_OF_SPARSE_CSR_BACKENDS = 99
DK_SPARSE_CSR_CPU = 100
DK_SPARSE_CSR_CUDA = 101
DK_SPARSE_CSR_HIP = 102
DK_SPARSE_CSR_XLA = 103
DK_SPARSE_CSR_MPS = 104
DK_SPARSE_CSR_IPU = 105
DK_SPARSE_CSR_XPU = 106
DK_SPARSE_CSR_HPU = 107
DK_SPARSE_CSR_VE = 108
DK_SPARSE_CSR_LAZY = 109
DK_SPARSE_CSR_MTIA = 110
DK_SPARSE_CSR_MAIA = 111
DK_SPARSE_CSR_PRIVATEUSE1 = 112
DK_SPARSE_CSR_PRIVATEUSE2 = 113
DK_SPARSE_CSR_PRIVATEUSE3 = 114
DK_SPARSE_CSR_META = 115
DK_START_OF_NESTED_TENSOR_BACKENDS = 116
DK_NESTED_TENSOR_CPU = 117
DK_NESTED_TENSOR_CUDA = 118
DK_NESTED_TENSOR_HIP = 119
DK_NESTED_TENSOR_XLA = 120
DK_NESTED_TENSOR_MPS = 121
DK_NESTED_TENSOR_IPU = 122
DK_NESTED_TENSOR_XPU = 123
DK_NESTED_TENSOR_HPU = 124
DK_NESTED_TENSOR_VE = 125
DK_NESTED_TENSOR_LAZY = 126
DK_NESTED_TENSOR_MTIA = 127
DK_NESTED_TENSOR_MAIA = 128
DK_NESTED_TENSOR_PRIVATEUSE1 = 129
DK_NESTED_TENSOR_PRIVATEUSE2 = 130
DK_NESTED_TENSOR_PRIVATEUSE3 = 131
DK_NESTED_TENSOR_META = 132
DK_START_OF_AUTOGRAD_BACKENDS = 133
DK_AUTOGRAD_CPU = 134
DK_AUTOGRAD_CUDA = 135
DK_AUTOGRAD_HIP = 136
DK_AUTOGRAD_XLA = 137
DK_AUTOGRAD_MPS = 138
DK_AUTOGRAD_IPU = 139
DK_AUTOGRAD_XPU = 140
DK_AUTOGRAD_HPU = 141
DK_AUTOGRAD_VE = 142
DK_AUTOGRAD_LAZY = 143
DK_AUTOGRAD_MTIA = 144
DK_AUTOGRAD_MAIA = 145
DK_AUTOGRAD_PRIVATEUSE1 = 146
DK_AUTOGRAD_PRIVATEUSE2 = 147
DK_AUTOGRAD_PRIVATEUSE3 = 148
DK_AUTOGRAD_META = 149
DK_END_OF_RUNTIME_BACKEND_KEYS = 149
DK_AUTOGRAD = 150
DK_COMPOSITE_IMPLICIT_AUTOGRAD = 151
DK_FUNCTORCH_BATCHED_DECOMPOSITION = 152
DK_COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR = 153
DK_COMPOSITE_EXPLICIT_AUTOGRAD = 154
DK_COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL = 155
DK_START_OF_ALIAS_KEYS = 150
DK_END_OF_ALIAS_KEYS = 155
DK_CATCH_ALL = 0
DK_CPU_TENSOR_ID = 49
DK_CUDA_TENSOR_ID = 50
DK_DEFAULT_BACKEND = 154
DK_PRIVATEUSE1_PRE_AUTOGRAD = 146
DK_PRIVATEUSE2_PRE_AUTOGRAD = 147
DK_PRIVATEUSE3_PRE_AUTOGRAD = 148
DK_AUTOCAST = 32
DK_SLOT_UNDEFINED = 0
DK_SLOT_LAST_UNDEFINED = 0
DK_SLOT_DENSE = 1
DK_SLOT_LAST_DENSE = 16
DK_SLOT_FPGA = 17
DK_SLOT_LAST_FPGA = 17
DK_SLOT_VULKAN = 18
DK_SLOT_LAST_VULKAN = 18
DK_SLOT_METAL = 19
DK_SLOT_LAST_METAL = 19
DK_SLOT_QUANTIZED = 20
DK_SLOT_LAST_QUANTIZED = 35
DK_SLOT_CUSTOM_RNG_KEY_ID = 36
DK_SLOT_LAST_CUSTOM_RNG_KEY_ID = 36
DK_SLOT_MKLDNN_CPU = 37
DK_SLOT_LAST_MKLDNN_CPU = 37
DK_SLOT_SPARSE = 38
DK_SLOT_LAST_SPARSE = 53
DK_SLOT_SPARSE_CSR = 54
DK_SLOT_LAST_SPARSE_CSR = 69
DK_SLOT_NESTED_TENSOR = 70
DK_SLOT_LAST_NESTED_TENSOR = 85
DK_SLOT_BACKEND_SELECT = 86
DK_SLOT_LAST_BACKEND_SELECT = 86
DK_SLOT_FAKE = 87
DK_SLOT_LAST_FAKE = 87
DK_SLOT_PYTHON = 88
DK_SLOT_LAST_PYTHON = 88
DK_SLOT_FUNCTORCH_DYNAMIC_LAYER_BACK_MODE = 89
DK_SLOT_LAST_FUNCTORCH_DYNAMIC_LAYER_BACK_MODE = 89
DK_SLOT_FUNCTIONALIZE = 90
DK_SLOT_LAST_FUNCTIONALIZE = 90
DK_SLOT_CONJUGATE = 91
DK_SLOT_LAST_CONJUGATE = 91
DK_SLOT_NEGATIVE = 92
DK_SLOT_LAST_NEGATIVE = 92
DK_SLOT_ZERO_TENSOR = 93
DK_SLOT_LAST_ZERO_TENSOR = 93
DK_SLOT_ADINPLACE_OR_VIEW = 94
DK_SLOT_LAST_ADINPLACE_OR_VIEW = 94
DK_SLOT_AUTOGRAD_OTHER = 95
DK_SLOT_LAST_AUTOGRAD_OTHER = 95
DK_SLOT_AUTOGRAD_FUNCTIONALITY = 96
DK_SLOT_LAST_AUTOGRAD_FUNCTIONALITY = 111
DK_SLOT_AUTOGRAD_NESTED_TENSOR = 112
DK_SLOT_LAST_AUTOGRAD_NESTED_TENSOR = 112
DK_SLOT_TRACER = 113
DK_SLOT_LAST_TRACER = 113
DK_SLOT_AUTOCAST_CPU = 114
DK_SLOT_LAST_AUTOCAST_CPU = 114
DK_SLOT_AUTOCAST_MTIA = 115
DK_SLOT_LAST_AUTOCAST_MTIA = 115
DK_SLOT_AUTOCAST_MAIA = 116
DK_SLOT_LAST_AUTOCAST_MAIA = 116
DK_SLOT_AUTOCAST_XPU = 117
DK_SLOT_LAST_AUTOCAST_XPU = 117
DK_SLOT_AUTOCAST_IPU = 118
DK_SLOT_LAST_AUTOCAST_IPU = 118
DK_SLOT_AUTOCAST_HPU = 119
DK_SLOT_LAST_AUTOCAST_HPU = 119
DK_SLOT_AUTOCAST_XLA = 120
DK_SLOT_LAST_AUTOCAST_XLA = 120
DK_SLOT_AUTOCAST_MPS = 121
DK_SLOT_LAST_AUTOCAST_MPS = 121
DK_SLOT_AUTOCAST_CUDA = 122
DK_SLOT_LAST_AUTOCAST_CUDA = 122
DK_SLOT_AUTOCAST_PRIVATEUSE1 = 123
DK_SLOT_LAST_AUTOCAST_PRIVATEUSE1 = 123
DK_SLOT_FUNCTORCH_BATCHED = 124
DK_SLOT_LAST_FUNCTORCH_BATCHED = 124
DK_SLOT_BATCHED_NESTED_TENSOR = 125
DK_SLOT_LAST_BATCHED_NESTED_TENSOR = 125
DK_SLOT_FUNCTORCH_VMAP_MODE = 126
DK_SLOT_LAST_FUNCTORCH_VMAP_MODE = 126
DK_SLOT_BATCHED = 127
DK_SLOT_LAST_BATCHED = 127
DK_SLOT_VMAP_MODE = 128
DK_SLOT_LAST_VMAP_MODE = 128
DK_SLOT_FUNCTORCH_GRAD_WRAPPER = 129
DK_SLOT_LAST_FUNCTORCH_GRAD_WRAPPER = 129
DK_SLOT_DEFERRED_INIT = 130
DK_SLOT_LAST_DEFERRED_INIT = 130
DK_SLOT_PYTHON_TLS_SNAPSHOT = 131
DK_SLOT_LAST_PYTHON_TLS_SNAPSHOT = 131
DK_SLOT_FUNCTORCH_DYNAMIC_LAYER_FRONT_MODE = 132
DK_SLOT_LAST_FUNCTORCH_DYNAMIC_LAYER_FRONT_MODE = 132
DK_SLOT_TESTING_ONLY_GENERIC_WRAPPER = 133
DK_SLOT_LAST_TESTING_ONLY_GENERIC_WRAPPER = 133
DK_SLOT_TESTING_ONLY_GENERIC_MODE = 134
DK_SLOT_LAST_TESTING_ONLY_GENERIC_MODE = 134
DK_SLOT_PRE_DISPATCH = 135
DK_SLOT_LAST_PRE_DISPATCH = 135
DK_SLOT_PYTHON_DISPATCHER = 136
DK_SLOT_LAST_PYTHON_DISPATCHER = 136
DK_NUM_ENTRIES = 137
DK_WHY_NONE = 0
DK_WHY_OVERRIDE = 1
DK_WHY_UNSERVED = 2
DK_WHY_NO_ENTRY = 3
DK_WHY_NO_MEMORY = 4
DK_WHY_BAD_NAME = 5
DK_WHY_BAD_SIZE = 6
DK_WHY_BAD_FLAGS = 7
DK_WHY_BAD_LAYOUT = 8
DK_WHY_LAYOUT_LINE = 9
DK_WHY_LAYOUT_WORD = 10
DK_WHY_LAYOUT_NAME = 11
DK_WHY_LAYOUT_TWICE = 12
DK_WHY_LAYOUT_LACKS = 13
DK_WHY_LAYOUT_SIZE = 14
DK_WHY_LAYOUT_BLOCK = 15
DK_WHY_LAYOUT_TAKEN = 16
DK_WHY_NO_SETS = 17
DK_WHY_NO_STRICT = 18
DK_WHY_BAD_DTYPE = 19
DK_WHY_BAD_TENSOR_LAYOUT = 20
DK_WHY_BAD_DEVICE_TYPE = 21
DK_WHY_DEVICE_INDEX = 22
DK_WHY_DEVICE_DENSE = 23
DK_WHY_DEVICE_SPARSE = 24
DK_WHY_DEVICE_SPARSE_CSR = 25
DK_WHY_DEVICE_SPARSE_CSC = 26
DK_WHY_DEVICE_SPARSE_BSR = 27
DK_WHY_DEVICE_SPARSE_BSC = 28
DK_WHY_DEVICE_MKLDNN = 29
DK_WHY_NO_DEVICE_TYPE = 30
DK_WHY_NO_UNIQUE_LAYOUT = 31
DK_WHY_BAD_CONSTANT = 32
DK_WHY_PARSE_KEY = 33
DK_WHY_PARSE_BACKEND = 34
DK_WHY_PARSE_SET = 35
DK_WHY_BAD_KEY = 36
DK_WHY_BAD_BACKEND = 37
DK_WHY_NOT_RUNTIME_KEY = 38
DK_WHY_BUILDING_BLOCK = 39
DK_WHY_TABLE_SIZE = 40
DK_WHY_TABLE_REGISTERED = 41
DK_WHY_ALIAS_KEY = 42
DK_WHY_NO_IMPL = 43
DK_WHY_NO_HOOK = 44
DK_WHY_HOOKED = 45
DK_WHY_CHANGED = 46
DK_WHY_NOT_COUNTED = 47
DK_WHY_NO_TABLE = 48
DK_WHY_ABI = 49
DK_WHY_LAYOUT = 50
DK_WHY_REGISTERED = 51
DK_WHY_UNREGISTERED = 52
DK_WHY_SHUTDOWN = 53
DK_WHY_IN_USE = 54
DK_WHY_INSIDE = 55
DK_WHY_INSIDE_BACKEND = 56
DK_WHY_ATOMIC = 57
DK_WHY_STILL_INSIDE = 58
DK_WHY_GRACE = 59
DK_WHY_NO_DEADLINE = 60
DK_WHY_CANCELED = 61
DK_WHY_DEFINED = 62
DK_WHY_CLASS = 63
DK_WHY_NOT_DEFINED = 64
DK_WHY_NO_OPERATOR = 65
DK_WHY_DANGLING = 66
DK_WHY_NOT_THERE = 67
DK_WHY_SIGNATURE = 68
DK_WHY_NOT_ATOMIC = 69
DK_WHY_NO_FUNCTION = 70
DK_WHY_FALLBACK_EXISTS = 71
DK_WHY_BACKENDS_TAKEN = 72
DK_WHY_NAME_TAKEN = 73
DK_WHY_NOT_PRIVATE = 74
DK_WHY_BACKEND_SHARED = 75
DK_WHY_BACKEND_OWNED = 76
DK_WHY_BACKEND_PINNED = 77
DK_WHY_BACKEND_USED = 78
DK_WHY_NO_BACKEND = 79
DK_WHY_DEVICE_EXISTS = 80
DK_WHY_NO_DEVICE = 81
DK_WHY_TOO_MANY_DEVICES = 82
DK_WHY_DEVICE_KEY = 83
DK_WHY_MISSING = 84
DK_WHY_AMBIGUOUS = 85
DK_WHY_DEVICE_GONE = 86
DK_WHY_NO_PARAM = 87
DK_WHY_ARG_KIND = 88
DK_WHY_ARG_RANGE = 89
DK_WHY_ARG_COUNT = 90
DK_WHY_TWO_DEVICES = 91
DK_WHY_LISTENING = 92
DK_WHY_NO_LISTENER = 93
DK_WHY_SCHEMA = 94
DK_WHY_SCHEMA_NAME = 95
DK_WHY_SCHEMA_INFER = 96
DK_WHY_LIBRARY_KIND = 97
DK_WHY_LIBRARY_NAMESPACE = 98
DK_WHY_LIBRARY_KEY = 99
DK_WHY_LIBRARY_EXISTS = 100
DK_WHY_LIBRARY_REGISTERED = 101
DK_WHY_LIBRARY_UNREGISTERED = 102
DK_WHY_LIBRARY_IMPL = 103
DK_WHY_LIBRARY_FN_KEY = 104
DK_WHY_LIBRARY_FALLBACK = 105
DK_WHY_FALLBACK_NAMESPACE = 106
DK_WHY_NAMESPACE = 107
DK_WHY_HANDLE = 108
DK_WHY_SCHEMA_ARGS = 109
DK_WHY_SCHEMA_NUM_ARGS = 110
DK_WHY_SCHEMA_NUM_RETURNS = 111
DK_WHY_SCHEMA_ARG = 112
DK_WHY_SCHEMA_RETURN = 113
DK_WHY_SCHEMA_PARAMS = 114
DK_WHY_OPTION = 115
DK_WHY_TABLE = 116
DK_WHY_UNREGISTERING = 117
DK_WHY_NOT_HOOKED = 118
DK_WHY_NO_DECL = 119
DK_WHY_NULL_ARGUMENT = 120
DK_WHY_FALLBACK_FUNCTION = 121
DK_WHY_ARGS_SIZE = 122
DK_WHY_DEFAULT_REGISTRY = 123
DK_WHY_PARAM = 124
DK_WHY_BAD_NAMESPACE = 125
DK_WHY_BAD_ALIAS_ANALYSIS = 126
DK_NUM_REASONS = 127
DK_KIND_NONE = 0
DK_KIND_UNDEFINED = 1
DK_KIND_FUNCTIONALITY = 2
DK_KIND_BUILDING_BLOCK = 3
DK_KIND_PER_BACKEND = 4
DK_KIND_ALIAS = 5
DK_KIND_SENTINEL = 6
DK_KNOWS_TABLES = 1
DK_KNOWS_SETS = 2
DK_KNOWS_STRICT = 4
DK_KNOWS_LEGACY = 8
DK_PARSE_STRICT = 1
DK_NOTE_LOST = 1
DK_NOTE_RENAMED = 2
DK_NOTE_CHANGED = 4
DK_NOTE_ADDED = 8
DK_NOTE_ALONE = 16
DK_NOTE_TOP = 32
DK_REGISTRY_BUILTINS = 1
DK_REGISTRY_FORCE_RESOLVE = 2
DK_ARG_NONE = 0
DK_ARG_BOOL = 1
DK_ARG_INT = 2
DK_ARG_UINT = 3
DK_ARG_FLOAT = 4
DK_ARG_DOUBLE = 5
DK_ARG_STRING = 6
DK_ARG_OBJECT = 7
DK_ARG_LIST = 8
DK_ARG_GENERATOR = 9
DK_ARG_POINTER = 10
DK_ARG_OTHER = 11
DK_ALIAS_DEFAULT = 0
DK_ALIAS_FROM_SCHEMA = 1
DK_ALIAS_CONSERVATIVE = 2
DK_ALIAS_PURE_FUNCTION = 3
DK_ALIAS_INTERNAL_SPECIAL_CASE = 4
DK_OP_ATOMIC = 1
DK_OP_SAME_DEVICE = 2
DK_IMPL_F_FALLTHROUGH = 1
DK_IMPL_F_ATOMIC = 2
DK_IMPL_F_BOXED = 4
DK_IMPL_F_PLAIN = 8
DK_IMPL_F_BLOCK = 16
DK_LIBRARY_DEF = 1
DK_LIBRARY_FRAGMENT = 2
DK_LIBRARY_IMPL = 3
DK_EVENT_DEFINED = 0
DK_EVENT_UNDEFINED = 1
DK_EVENT_IMPL = 2
DK_EVENT_LOST = 3
DK_JOIN_ALONE = 1
DK_HOOK_CALL = 0
DK_HOOK_REDISPATCH = 1
DK_HOOK_CALL_BOXED = 2
DK_HOOK_REDISPATCH_BOXED = 3
DK_HOOK_TRACE = 1
DK_PROV_MISSING = 0
DK_PROV_KERNEL = 1
DK_PROV_DEFAULT_BACKEND = 2
DK_PROV_NESTED = 3
DK_PROV_AMBIGUOUS = 4
DK_PROV_MATH = 5
DK_PROV_AUTOGRAD = 6
DK_PROV_BATCHED = 7
DK_PROV_FALLBACK = 8
DK_PROV_NO_ENTRY = 9
DK_STEP_MASK = 0
DK_STEP_RULE = 1
DK_STEP_IMPL = 2
DK_VERDICT_NOT_EVALUATED = 0
DK_VERDICT_SERVES = 1
DK_VERDICT_AMBIGUOUS = 2
DK_VERDICT_MISSING = 3
DK_VERDICT_NO_IMPL = 4
DK_VERDICT_NO_ALIAS = 5
DK_VERDICT_OUTSIDE = 6
DK_VERDICT_BARS = 7
DK_VERDICT_BARS_NOT = 8
DK_VERDICT_BARRED = 9
DK_VERDICT_HAS_ENTRY = 10
DK_VERDICT_NO_ENTRY = 11
DK_BEARING_NONE = 0
DK_BEARING_OVERRIDDEN = 1
DK_BEARING_SERVES = 2
DK_BEARING_DECIDES = 3
DK_BEARING_SET = 4
DK_BEARING_OFFLINE = 5
DK_STAT_IMPL = 0
DK_STAT_FALLBACK = 1
DK_STAT_MISSING = 2
DK_STAT_PROVIDER = 3
DK_TYPE_NAME = 0
DK_TYPE_OPTIONAL = 1
DK_TYPE_LIST = 2
DK_TYPE_TUPLE = 3
DK_TYPE_GENERIC = 4
DK_SCHEMA_VARARG = 1
DK_SCHEMA_VARRET = 2

# The errno of each reason.
ERRNO = {
    DK_WHY_NONE: 0,
    DK_WHY_OVERRIDE: 0,
    DK_WHY_UNSERVED: 0,
    DK_WHY_NO_ENTRY: 0,
    DK_WHY_NO_MEMORY: 12,
    DK_WHY_BAD_NAME: 22,
    DK_WHY_BAD_SIZE: 22,
    DK_WHY_BAD_FLAGS: 22,
    DK_WHY_BAD_LAYOUT: 2,
    DK_WHY_LAYOUT_LINE: 22,
    DK_WHY_LAYOUT_WORD: 22,
    DK_WHY_LAYOUT_NAME: 22,
    DK_WHY_LAYOUT_TWICE: 22,
    DK_WHY_LAYOUT_LACKS: 22,
    DK_WHY_LAYOUT_SIZE: 22,
    DK_WHY_LAYOUT_BLOCK: 22,
    DK_WHY_LAYOUT_TAKEN: 17,
    DK_WHY_NO_SETS: 95,
    DK_WHY_NO_STRICT: 95,
    DK_WHY_BAD_DTYPE: 22,
    DK_WHY_BAD_TENSOR_LAYOUT: 22,
    DK_WHY_BAD_DEVICE_TYPE: 22,
    DK_WHY_DEVICE_INDEX: 22,
    DK_WHY_DEVICE_DENSE: 95,
    DK_WHY_DEVICE_SPARSE: 95,
    DK_WHY_DEVICE_SPARSE_CSR: 95,
    DK_WHY_DEVICE_SPARSE_CSC: 95,
    DK_WHY_DEVICE_SPARSE_BSR: 95,
    DK_WHY_DEVICE_SPARSE_BSC: 95,
    DK_WHY_DEVICE_MKLDNN: 95,
    DK_WHY_NO_DEVICE_TYPE: 22,
    DK_WHY_NO_UNIQUE_LAYOUT: 22,
    DK_WHY_BAD_CONSTANT: 2,
    DK_WHY_PARSE_KEY: 22,
    DK_WHY_PARSE_BACKEND: 22,
    DK_WHY_PARSE_SET: 22,
    DK_WHY_BAD_KEY: 22,
    DK_WHY_BAD_BACKEND: 22,
    DK_WHY_NOT_RUNTIME_KEY: 22,
    DK_WHY_BUILDING_BLOCK: 22,
    DK_WHY_TABLE_SIZE: 28,
    DK_WHY_TABLE_REGISTERED: 17,
    DK_WHY_ALIAS_KEY: 22,
    DK_WHY_NO_IMPL: 2,
    DK_WHY_NO_HOOK: 22,
    DK_WHY_HOOKED: 17,
    DK_WHY_CHANGED: 11,
    DK_WHY_NOT_COUNTED: 61,
    DK_WHY_NO_TABLE: 95,
    DK_WHY_ABI: 71,
    DK_WHY_LAYOUT: 71,
    DK_WHY_REGISTERED: 17,
    DK_WHY_UNREGISTERED: 22,
    DK_WHY_SHUTDOWN: 108,
    DK_WHY_IN_USE: 16,
    DK_WHY_INSIDE: 35,
    DK_WHY_INSIDE_BACKEND: 35,
    DK_WHY_ATOMIC: 35,
    DK_WHY_STILL_INSIDE: 110,
    DK_WHY_GRACE: 110,
    DK_WHY_NO_DEADLINE: 110,
    DK_WHY_CANCELED: 125,
    DK_WHY_DEFINED: 17,
    DK_WHY_CLASS: 16,
    DK_WHY_NOT_DEFINED: 2,
    DK_WHY_NO_OPERATOR: 2,
    DK_WHY_DANGLING: 2,
    DK_WHY_NOT_THERE: 2,
    DK_WHY_SIGNATURE: 91,
    DK_WHY_NOT_ATOMIC: 22,
    DK_WHY_NO_FUNCTION: 22,
    DK_WHY_FALLBACK_EXISTS: 17,
    DK_WHY_BACKENDS_TAKEN: 28,
    DK_WHY_NAME_TAKEN: 22,
    DK_WHY_NOT_PRIVATE: 22,
    DK_WHY_BACKEND_SHARED: 16,
    DK_WHY_BACKEND_OWNED: 16,
    DK_WHY_BACKEND_PINNED: 16,
    DK_WHY_BACKEND_USED: 16,
    DK_WHY_NO_BACKEND: 2,
    DK_WHY_DEVICE_EXISTS: 17,
    DK_WHY_NO_DEVICE: 19,
    DK_WHY_TOO_MANY_DEVICES: 28,
    DK_WHY_DEVICE_KEY: 22,
    DK_WHY_MISSING: 38,
    DK_WHY_AMBIGUOUS: 76,
    DK_WHY_DEVICE_GONE: 19,
    DK_WHY_NO_PARAM: 2,
    DK_WHY_ARG_KIND: 91,
    DK_WHY_ARG_RANGE: 22,
    DK_WHY_ARG_COUNT: 91,
    DK_WHY_TWO_DEVICES: 18,
    DK_WHY_LISTENING: 17,
    DK_WHY_NO_LISTENER: 22,
    DK_WHY_SCHEMA: 22,
    DK_WHY_SCHEMA_NAME: 22,
    DK_WHY_SCHEMA_INFER: 22,
    DK_WHY_LIBRARY_KIND: 22,
    DK_WHY_LIBRARY_NAMESPACE: 22,
    DK_WHY_LIBRARY_KEY: 22,
    DK_WHY_LIBRARY_EXISTS: 17,
    DK_WHY_LIBRARY_REGISTERED: 17,
    DK_WHY_LIBRARY_UNREGISTERED: 22,
    DK_WHY_LIBRARY_IMPL: 22,
    DK_WHY_LIBRARY_FN_KEY: 22,
    DK_WHY_LIBRARY_FALLBACK: 22,
    DK_WHY_FALLBACK_NAMESPACE: 22,
    DK_WHY_NAMESPACE: 22,
    DK_WHY_HANDLE: 17,
    DK_WHY_SCHEMA_ARGS: 22,
    DK_WHY_SCHEMA_NUM_ARGS: 91,
    DK_WHY_SCHEMA_NUM_RETURNS: 91,
    DK_WHY_SCHEMA_ARG: 91,
    DK_WHY_SCHEMA_RETURN: 91,
    DK_WHY_SCHEMA_PARAMS: 91,
    DK_WHY_OPTION: 22,
    DK_WHY_TABLE: 84,
    DK_WHY_UNREGISTERING: 16,
    DK_WHY_NOT_HOOKED: 2,
    DK_WHY_NO_DECL: 22,
    DK_WHY_NULL_ARGUMENT: 22,
    DK_WHY_FALLBACK_FUNCTION: 22,
    DK_WHY_ARGS_SIZE: 22,
    DK_WHY_DEFAULT_REGISTRY: 16,
    DK_WHY_PARAM: 22,
    DK_WHY_BAD_NAMESPACE: 22,
    DK_WHY_BAD_ALIAS_ANALYSIS: 22,
}


class dk_keyset(c.Structure):
    """struct dk_keyset"""


class dk_obj(c.Structure):
    """struct dk_obj"""


class dk_local(c.Structure):
    """struct dk_local"""


class dk_diag(c.Structure):
    """struct dk_diag"""


class dk_note(c.Structure):
    """struct dk_note"""


class dk_translation(c.Structure):
    """struct dk_translation"""


class dk_provider(c.Structure):
    """struct dk_provider"""


class dk_inside(c.Structure):
    """struct dk_inside"""


class dk_list(c.Structure):
    """struct dk_list"""


class dk_generator(c.Structure):
    """struct dk_generator"""


class dk_param(c.Structure):
    """struct dk_param"""


class dk_value(c.Structure):
    """struct dk_value"""


class dk_op_decl(c.Structure):
    """struct dk_op_decl"""


class dk_impl(c.Structure):
    """struct dk_impl"""


class dk_library(c.Structure):
    """struct dk_library"""


class dk_handle(c.Structure):
    """struct dk_handle"""


class dk_event(c.Structure):
    """struct dk_event"""


class dk_call(c.Structure):
    """struct dk_call"""


class dk_deferred(c.Structure):
    """struct dk_deferred"""


class dk_hook_info(c.Structure):
    """struct dk_hook_info"""


class dk_hooks(c.Structure):
    """struct dk_hooks"""


class dk_entry(c.Structure):
    """struct dk_entry"""


class dk_impl_info(c.Structure):
    """struct dk_impl_info"""


class dk_op_info(c.Structure):
    """struct dk_op_info"""


class dk_route(c.Structure):
    """struct dk_route"""


class dk_explain(c.Structure):
    """struct dk_explain"""


class dk_step(c.Structure):
    """struct dk_step"""


class dk_counts(c.Structure):
    """struct dk_counts"""


class dk_backend_info(c.Structure):
    """struct dk_backend_info"""


class dk_device_info(c.Structure):
    """struct dk_device_info"""


class dk_provider_info(c.Structure):
    """struct dk_provider_info"""


class dk_limit(c.Structure):
    """struct dk_limit"""


class dk_stats(c.Structure):
    """struct dk_stats"""


class dk_stat(c.Structure):
    """struct dk_stat"""


class dk_type(c.Structure):
    """struct dk_type"""


class dk_schema_arg(c.Structure):
    """struct dk_schema_arg"""


dk_boxed_fn_t = c.CFUNCTYPE(c.c_int, c.POINTER(dk_call), c.c_void_p)
dk_extract_fn_t = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_int)
dk_hook_fn_t = c.CFUNCTYPE(None, c.POINTER(dk_hooks), c.POINTER(dk_hook_info))

dk_keyset._fields_ = [
    ("bits", c.c_uint64),
]

dk_obj._fields_ = [
    ("ks", dk_keyset),
    ("device", c.c_uint32),
    ("flags", c.c_uint32),
]

dk_local._fields_ = [
    ("included", c.c_uint64),
    ("excluded", c.c_uint64),
    ("depth", c.c_uint32),
    ("reserved", c.c_uint32),
]

dk_diag._fields_ = [
    ("size", c.c_uint32),
    ("reason", c.c_uint32),
    ("text", c.c_char_p),
    ("name", c.c_char * 128),
]

dk_note._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint32),
    ("from_kind", c.c_uint32),
    ("to_kind", c.c_uint32),
    ("name", c.c_char * 128),
    ("other", c.c_char * 128),
]

dk_translation._fields_ = [
    ("from", c.c_void_p),
    ("to", c.c_void_p),
    ("set", dk_keyset),
    ("result", dk_keyset),
    ("stage", c.c_uint32),
    ("at", c.c_uint32),
    ("reserved", c.c_uint64 * 2),
]

dk_provider._fields_ = [
    ("size", c.c_uint32),
    ("abi", c.c_uint32),
    ("layout", c.c_char_p),
    ("name", c.c_char_p),
    ("registry", c.c_void_p),
    ("priv", c.c_void_p),
    ("owner", c.c_void_p),
    ("core", c.c_void_p),
]

dk_inside._fields_ = [
    ("size", c.c_uint32),
    ("thread", c.c_uint32),
    ("device", c.c_uint32),
    ("is_deferred", c.c_uint32),
    ("ms", c.c_uint64),
    ("op", c.c_char * 128),
    ("label", c.c_char * 128),
    ("thread_name", c.c_char * 16),
]

dk_list._fields_ = [
    ("head", dk_obj),
    ("items", c.c_void_p),
    ("n", c.c_ulong),
    ("offset", c.c_ulong),
]

dk_generator._fields_ = [
    ("dk", dk_obj),
]

dk_param._fields_ = [
    ("name", c.c_char_p),
    ("kind", c.c_uint32),
    ("offset", c.c_uint32),
    ("size", c.c_uint32),
    ("obj_offset", c.c_uint32),
]

class dk_value_union(c.Union):
    _fields_ = [
        ("i", c.c_int64),
        ("u", c.c_uint64),
        ("bits", c.c_uint64),
        ("str", c.c_char_p),
        ("obj", c.POINTER(dk_obj)),
        ("gen", c.POINTER(dk_generator)),
        ("ptr", c.c_void_p),
        ("list", dk_list),
    ]


dk_value._anonymous_ = ("_union",)
dk_value._fields_ = [
    ("kind", c.c_uint32),
    ("size", c.c_uint32),
    ("_union", dk_value_union),
]

dk_op_decl._fields_ = [
    ("size", c.c_uint32),
    ("call_abi", c.c_uint32),
    ("name", c.c_char_p),
    ("sig", c.c_char_p),
    ("unbox", dk_boxed_fn_t),
    ("op", c.c_void_p),
    ("schema", c.c_char_p),
    ("debug", c.c_char_p),
    ("alias_analysis", c.c_uint32),
    ("num_params", c.c_uint32),
    ("param", c.POINTER(dk_param)),
    ("dispatched", c.c_char_p),
    ("args_size", c.c_uint64),
    ("sig_mark", c.c_uint64),
    ("extract", dk_extract_fn_t),
    ("unbox_plain", dk_boxed_fn_t),
    ("pack", c.c_void_p),
]

dk_impl._fields_ = [
    ("op", c.POINTER(dk_op_decl)),
    ("fn", c.c_void_p),
    ("label", c.c_char_p),
    ("key", c.c_uint16),
    ("flags", c.c_uint16),
    ("size", c.c_uint32),
    ("schema", c.c_char_p),
]

dk_library._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint32),
    ("ns", c.c_char_p),
    ("key", c.c_uint32),
    ("debug", c.c_char_p),
    ("prov", c.POINTER(dk_provider)),
    ("core", c.c_void_p),
]

dk_handle._fields_ = [
    ("core", c.c_void_p),
]

dk_event._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint32),
    ("name", c.c_char_p),
    ("key", c.c_uint32),
    ("reserved", c.c_uint32),
]

dk_call._fields_ = [
    ("ks", dk_keyset),
    ("made", c.c_ulong),
    ("entry", c.c_void_p),
    ("op", c.c_void_p),
    ("local", c.POINTER(dk_local)),
]

dk_deferred._fields_ = [
    ("size", c.c_uint32),
    ("thread", c.c_uint32),
    ("since", c.c_uint64),
    ("prov", c.c_void_p),
    ("reg", c.c_void_p),
    ("next", c.POINTER(dk_deferred)),
    ("link", c.POINTER(c.POINTER(dk_deferred))),
    ("forks", c.c_uint64),
]

dk_hook_info._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint32),
    ("depth", c.c_uint32),
    ("key", c.c_uint32),
    ("ks", dk_keyset),
    ("name", c.c_char_p),
    ("op", c.c_void_p),
    ("call", c.POINTER(dk_call)),
    ("sequence", c.c_int64),
    ("result", c.c_int32),
    ("reserved", c.c_uint32),
]

dk_hooks._fields_ = [
    ("size", c.c_uint32),
    ("flags", c.c_uint32),
    ("before", dk_hook_fn_t),
    ("after", dk_hook_fn_t),
    ("data", c.c_void_p),
    ("reg", c.c_void_p),
    ("next", c.POINTER(dk_hooks)),
    ("id", c.c_uint64),
]

dk_entry._fields_ = [
    ("size", c.c_uint32),
    ("provenance", c.c_uint16),
    ("is_fallthrough", c.c_uint16),
    ("device", c.c_uint32),
    ("reserved", c.c_uint32),
    ("label", c.c_char * 128),
    ("provider", c.c_char * 128),
    ("device_name", c.c_char * 128),
]

dk_impl_info._fields_ = [
    ("size", c.c_uint32),
    ("key", c.c_uint16),
    ("is_fallthrough", c.c_uint8),
    ("is_boxed", c.c_uint8),
    ("is_active", c.c_uint8),
    ("reserved", c.c_uint8 * 3),
    ("device", c.c_uint32),
    ("label", c.c_char * 128),
    ("provider", c.c_char * 128),
    ("device_name", c.c_char * 128),
]

dk_op_info._fields_ = [
    ("size", c.c_uint32),
    ("flags", c.c_uint32),
    ("num_impls", c.c_uint32),
    ("max_objs", c.c_uint32),
    ("is_defined", c.c_uint8),
    ("is_dangling", c.c_uint8),
    ("reserved", c.c_uint8 * 2),
    ("name", c.c_char * 128),
    ("definer", c.c_char * 128),
]

dk_route._fields_ = [
    ("size", c.c_uint32),
    ("slot", c.c_uint32),
    ("raw", dk_keyset),
    ("effective", dk_keyset),
    ("entry", dk_entry),
]

dk_explain._fields_ = [
    ("size", c.c_uint32),
    ("device", c.c_uint32),
    ("included", dk_keyset),
    ("excluded", dk_keyset),
    ("merged", dk_keyset),
    ("generation", c.c_uint64),
    ("error", c.c_int32),
    ("reserved", c.c_uint32),
    ("route", dk_route),
]

dk_step._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint16),
    ("rule", c.c_uint16),
    ("verdict", c.c_uint16),
    ("bearing", c.c_uint16),
    ("key", c.c_uint16),
    ("impl_key", c.c_uint16),
    ("has_impl", c.c_uint8),
    ("is_fallthrough", c.c_uint8),
    ("is_fallback", c.c_uint8),
    ("reserved", c.c_uint8),
    ("device", c.c_uint32),
    ("label", c.c_char * 128),
    ("provider", c.c_char * 128),
    ("device_name", c.c_char * 128),
]

dk_counts._fields_ = [
    ("size", c.c_uint32),
    ("operators", c.c_uint32),
    ("impls", c.c_uint32),
    ("providers", c.c_uint32),
    ("devices", c.c_uint32),
    ("reserved", c.c_uint32),
    ("generation", c.c_uint64),
]

dk_backend_info._fields_ = [
    ("size", c.c_uint32),
    ("number", c.c_uint32),
    ("is_online", c.c_uint8),
    ("is_bound", c.c_uint8),
    ("is_alone", c.c_uint8),
    ("reserved", c.c_uint8),
    ("providers", c.c_uint32),
    ("devices", c.c_uint32),
    ("impls", c.c_uint32),
    ("name", c.c_char * 128),
    ("own_name", c.c_char * 128),
]

dk_device_info._fields_ = [
    ("size", c.c_uint32),
    ("number", c.c_uint32),
    ("backend", c.c_uint32),
    ("impls", c.c_uint32),
    ("is_online", c.c_uint8),
    ("backend_online", c.c_uint8),
    ("reserved", c.c_uint8 * 6),
    ("name", c.c_char * 128),
    ("provider", c.c_char * 128),
    ("backend_name", c.c_char * 128),
]

dk_provider_info._fields_ = [
    ("size", c.c_uint32),
    ("is_unregistering", c.c_uint32),
    ("number", c.c_uint64),
    ("operators", c.c_uint32),
    ("impls", c.c_uint32),
    ("devices", c.c_uint32),
    ("reserved", c.c_uint32),
    ("backends", dk_keyset),
    ("name", c.c_char * 128),
    ("module", c.c_char * 128),
]

dk_limit._fields_ = [
    ("size", c.c_uint32),
    ("has_used", c.c_uint32),
    ("name", c.c_char_p),
    ("most", c.c_uint64),
    ("used", c.c_uint64),
]

dk_stats._fields_ = [
    ("size", c.c_uint32),
    ("is_enabled", c.c_uint32),
    ("counters", c.c_uint32),
    ("reserved", c.c_uint32),
    ("uncounted", c.c_uint64),
    ("gone", c.c_uint64),
]

dk_stat._fields_ = [
    ("size", c.c_uint32),
    ("kind", c.c_uint16),
    ("key", c.c_uint16),
    ("count", c.c_uint64),
    ("device", c.c_uint32),
    ("is_counted", c.c_uint8),
    ("reserved", c.c_uint8 * 3),
    ("label", c.c_char * 128),
    ("provider", c.c_char * 128),
    ("device_name", c.c_char * 128),
]

dk_type._fields_ = [
    ("kind", c.c_uint32),
    ("size", c.c_uint32),
    ("name", c.c_char_p),
    ("before", c.c_char_p),
    ("after", c.c_char_p),
    ("write", c.c_uint32),
    ("first", c.POINTER(dk_type)),
    ("next", c.POINTER(dk_type)),
]

dk_schema_arg._fields_ = [
    ("type", c.POINTER(dk_type)),
    ("name", c.c_char_p),
    ("value", c.c_char_p),
    ("keyword_only", c.c_uint32),
]

STRUCTS = [
    dk_keyset,
    dk_obj,
    dk_local,
    dk_diag,
    dk_note,
    dk_translation,
    dk_provider,
    dk_inside,
    dk_list,
    dk_generator,
    dk_param,
    dk_value,
    dk_op_decl,
    dk_impl,
    dk_library,
    dk_handle,
    dk_event,
    dk_call,
    dk_deferred,
    dk_hook_info,
    dk_hooks,
    dk_entry,
    dk_impl_info,
    dk_op_info,
    dk_route,
    dk_explain,
    dk_step,
    dk_counts,
    dk_backend_info,
    dk_device_info,
    dk_provider_info,
    dk_limit,
    dk_stats,
    dk_stat,
    dk_type,
    dk_schema_arg,
]

# What each function returns and takes.
FUNCTIONS: _Dict[str, _Tuple[_Any, _List[_Any]]] = {
    "dk_reason_text": (c.c_char_p, [c.c_uint]),
    "dk_layout_find": (c.c_void_p, [c.c_char_p, c.POINTER(dk_diag)]),
    "dk_layout_next": (c.c_char_p, [c.c_char_p]),
    "dk_layout_parse": (c.c_void_p, [c.c_char_p, c.POINTER(dk_diag)]),
    "dk_layout_free": (None, [c.c_void_p]),
    "dk_layout_describe": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_layout_knows": (c.c_uint, [c.c_void_p]),
    "dk_layout_name": (c.c_char_p, [c.c_void_p]),
    "dk_layout_backends": (c.c_uint, [c.c_void_p]),
    "dk_layout_functionalities": (c.c_uint, [c.c_void_p]),
    "dk_layout_entries": (c.c_uint, [c.c_void_p]),
    "dk_table_size": (c.c_uint, [c.c_void_p]),
    "dk_layout_keys": (c.c_uint, [c.c_void_p]),
    "dk_layout_full": (dk_keyset, [c.c_void_p]),
    "dk_key_functionality": (c.c_uint, [c.c_void_p, c.c_uint]),
    "dk_key_backend": (c.c_uint, [c.c_void_p, c.c_uint]),
    "dk_key_kind": (c.c_uint, [c.c_void_p, c.c_uint]),
    "dk_kind_name": (c.c_char_p, [c.c_uint]),
    "dk_key_set": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_backend_set": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_key_slot": (c.c_uint, [c.c_void_p, c.c_uint]),
    "dk_slot_key": (c.c_uint, [c.c_void_p, c.c_uint]),
    "dk_runtime_key": (c.c_uint, [c.c_void_p, c.c_uint, c.c_uint]),
    "dk_is_per_backend": (c.c_int, [c.c_void_p, c.c_uint]),
    "dk_is_backend_key": (c.c_int, [c.c_void_p, c.c_uint]),
    "dk_key_name": (c.c_char_p, [c.c_void_p, c.c_uint, c.c_char_p]),
    "dk_backend_bit_name": (c.c_char_p, [c.c_void_p, c.c_uint]),
    "dk_key_parse": (c.c_int, [c.c_void_p, c.c_char_p, c.c_uint, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_backend_bit_parse": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_keyset_parse": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_keyset),
        c.POINTER(dk_diag)]),
    "dk_keyset_print": (c.c_size_t, [c.c_void_p, dk_keyset, c.c_char_p, c.c_size_t]),
    "dk_keyset_or": (dk_keyset, [dk_keyset, dk_keyset]),
    "dk_keyset_and": (dk_keyset, [dk_keyset, dk_keyset]),
    "dk_keyset_xor": (dk_keyset, [dk_keyset, dk_keyset]),
    "dk_keyset_of": (dk_keyset, [c.c_void_p, c.POINTER(c.c_uint), c.c_uint]),
    "dk_keyset_has": (c.c_int, [c.c_void_p, dk_keyset, c.c_uint]),
    "dk_keyset_highest_bit": (c.c_uint, [dk_keyset]),
    "dk_keyset_has_all": (c.c_int, [dk_keyset, dk_keyset]),
    "dk_keyset_has_any": (c.c_int, [dk_keyset, dk_keyset]),
    "dk_keyset_has_any_valid": (c.c_int, [c.c_void_p, dk_keyset]),
    "dk_keyset_sub": (dk_keyset, [c.c_void_p, dk_keyset, dk_keyset]),
    "dk_keyset_remove": (dk_keyset, [c.c_void_p, dk_keyset, c.c_uint]),
    "dk_keyset_remove_backend": (dk_keyset, [c.c_void_p, dk_keyset, c.c_uint]),
    "dk_keyset_after": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_keyset_functionality": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_keyset_backend": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_keyset_key": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_keyset_slot": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_table_index": (c.c_int, [c.c_void_p, dk_keyset]),
    "dk_keyset_next": (c.c_uint, [c.c_void_p, dk_keyset, c.c_uint]),
    "dk_alias_set": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_alias_has": (c.c_int, [c.c_void_p, c.c_uint, c.c_uint]),
    "dk_backends_of_autograd": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_autograd_of_backend": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_autocast_of_backend": (dk_keyset, [c.c_void_p, c.c_uint]),
    "dk_constant_set": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_keyset),
        c.POINTER(dk_diag)]),
    "dk_fresh_set": (dk_keyset, [c.c_void_p, dk_keyset, c.c_int]),
    "dk_backend_type": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_legacy_extract": (c.c_uint, [c.c_void_p, dk_keyset]),
    "dk_translate": (None, [c.POINTER(dk_translation), c.c_void_p, c.c_void_p, dk_keyset]),
    "dk_translation_next": (c.c_int, [c.POINTER(dk_translation), c.POINTER(dk_note)]),
    "dk_compute_key": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p,
        c.POINTER(c.c_uint), c.POINTER(dk_diag)]),
    "dk_key_device_type": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(c.c_char_p),
        c.POINTER(dk_diag)]),
    "dk_key_tensor_layout": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(c.c_char_p),
        c.POINTER(dk_diag)]),
    "dk_device_type_number": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_diag)]),
    "dk_device_type_name": (c.c_char_p, [c.c_void_p, c.c_uint]),
    "dk_tensor_layout_number": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_diag)]),
    "dk_tensor_layout_name": (c.c_char_p, [c.c_void_p, c.c_uint]),
    "dk_local_included": (dk_keyset, [c.POINTER(dk_local)]),
    "dk_local_excluded": (dk_keyset, [c.POINTER(dk_local)]),
    "dk_local_set": (None, [c.POINTER(dk_local), dk_keyset, dk_keyset]),
    "dk_local_include": (None, [c.POINTER(dk_local), dk_keyset]),
    "dk_local_exclude": (None, [c.POINTER(dk_local), dk_keyset]),
    "dk_local_keyset_included": (c.c_int, [c.POINTER(dk_local), dk_keyset]),
    "dk_local_keyset_excluded": (c.c_int, [c.POINTER(dk_local), dk_keyset]),
    "dk_local_is_included": (c.c_int, [c.POINTER(dk_local), c.c_uint]),
    "dk_local_is_excluded": (c.c_int, [c.POINTER(dk_local), c.c_uint]),
    "dk_local_set_included": (None, [c.POINTER(dk_local), c.c_uint, c.c_int]),
    "dk_local_set_excluded": (None, [c.POINTER(dk_local), c.c_uint, c.c_int]),
    "dk_local_set_inference": (None, [c.POINTER(dk_local), c.c_int]),
    "dk_local_set_autocast": (c.c_int, [c.POINTER(dk_local), c.c_uint, c.c_int]),
    "dk_thread_init": (c.c_int, []),
    "dk_registry_alloc": (c.c_void_p, [c.c_void_p, c.c_uint, c.POINTER(dk_diag)]),
    "dk_registry_free": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_registry_default": (c.c_void_p, []),
    "dk_registry_layout": (c.c_void_p, [c.c_void_p]),
    "dk_registry_generation": (c.c_uint64, [c.c_void_p]),
    "dk_registry_check": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_provider_register": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_diag)]),
    "dk_provider_unregister": (c.c_int, [c.POINTER(dk_provider)]),
    "dk_provider_unregister_timeout": (c.c_int, [c.POINTER(dk_provider), c.c_uint,
        c.POINTER(dk_diag)]),
    "dk_provider_inside": (c.c_int, [c.POINTER(dk_provider), c.c_uint, c.POINTER(dk_inside)]),
    "dk_provider_drain": (c.c_int, [c.POINTER(dk_provider)]),
    "dk_list_init": (c.POINTER(dk_obj), [c.POINTER(dk_list), c.c_void_p, c.c_ulong, c.c_ulong]),
    "dk_list_obj": (c.POINTER(dk_obj), [c.POINTER(dk_list)]),
    "dk_list_at": (c.POINTER(dk_obj), [c.POINTER(dk_list), c.c_ulong]),
    "dk_arg_find": (c.c_int, [c.POINTER(dk_op_decl), c.c_char_p]),
    "dk_arg_get": (c.c_int, [c.POINTER(dk_op_decl), c.c_void_p, c.c_uint, c.POINTER(dk_value)]),
    "dk_arg_set": (c.c_int, [c.POINTER(dk_op_decl), c.c_void_p, c.c_uint, c.POINTER(dk_value),
        c.POINTER(dk_diag)]),
    "dk_args_pack": (c.c_int, [c.POINTER(dk_op_decl), c.POINTER(dk_value), c.c_uint, c.c_void_p,
        c.c_size_t, c.POINTER(dk_diag)]),
    "dk_op_define": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_op_decl), c.c_uint,
        c.POINTER(dk_diag)]),
    "dk_op_undefine": (c.c_int, [c.POINTER(dk_provider), c.c_char_p, c.POINTER(dk_diag)]),
    "dk_op_get": (c.c_void_p, [c.c_void_p, c.c_char_p]),
    "dk_op_get_defined": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p),
        c.POINTER(dk_diag)]),
    "dk_op_put": (None, [c.c_void_p]),
    "dk_op_takes": (c.c_int, [c.c_void_p, c.POINTER(dk_op_decl)]),
    "dk_op_name": (c.c_char_p, [c.c_void_p]),
    "dk_impls_register": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_impl), c.c_uint,
        c.POINTER(dk_diag)]),
    "dk_backend_impls_register": (c.c_int, [c.POINTER(dk_provider), c.c_uint,
        c.POINTER(dk_impl), c.c_uint, c.POINTER(dk_diag)]),
    "dk_impls_unregister": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_impl),
        c.POINTER(dk_diag)]),
    "dk_impls_withdraw": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_impl),
        c.POINTER(dk_diag)]),
    "dk_fallback_register": (c.c_int, [c.POINTER(dk_provider), c.POINTER(dk_impl),
        c.POINTER(dk_diag)]),
    "dk_library_register": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_diag)]),
    "dk_library_unregister": (c.c_int, [c.POINTER(dk_library)]),
    "dk_library_def": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_op_decl), c.c_uint,
        c.POINTER(dk_handle), c.POINTER(dk_diag)]),
    "dk_library_def_impl": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_op_decl), c.c_uint,
        c.POINTER(dk_impl), c.POINTER(dk_handle), c.POINTER(dk_diag)]),
    "dk_library_impl": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_impl),
        c.POINTER(dk_handle), c.POINTER(dk_diag)]),
    "dk_library_fallback": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_impl),
        c.POINTER(dk_handle), c.POINTER(dk_diag)]),
    "dk_handle_release": (c.c_int, [c.POINTER(dk_library), c.POINTER(dk_handle)]),
    "dk_listener_register": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_listener_unregister": (c.c_int, [c.c_void_p]),
    "dk_backend_join": (c.c_int, [c.POINTER(dk_provider), c.c_char_p, c.c_uint, c.c_uint,
        c.POINTER(c.c_uint), c.POINTER(dk_diag)]),
    "dk_backend_release": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_diag)]),
    "dk_backend_find": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_backend_name": (c.c_char_p, [c.c_void_p, c.c_uint, c.c_char_p]),
    "dk_registry_key_name": (c.c_char_p, [c.c_void_p, c.c_uint, c.c_char_p]),
    "dk_registry_key_parse": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_registry_key_parse_strict": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_key_for_device": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_uint),
        c.POINTER(dk_diag)]),
    "dk_device_register": (c.c_int, [c.POINTER(dk_provider), c.c_uint, c.c_char_p, c.c_void_p,
        c.POINTER(dk_impl), c.c_uint, c.POINTER(c.c_uint32), c.POINTER(dk_diag)]),
    "dk_device_unregister": (c.c_int, [c.POINTER(dk_provider), c.c_uint32, c.POINTER(dk_diag)]),
    "dk_device_find": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_obj),
        c.POINTER(dk_diag)]),
    "dk_device_set_online_timeout": (c.c_int, [c.c_void_p, c.c_uint32, c.c_int, c.c_uint,
        c.POINTER(dk_diag)]),
    "dk_device_set_online": (c.c_int, [c.c_void_p, c.c_uint32, c.c_int, c.POINTER(dk_diag)]),
    "dk_backend_set_online_timeout": (c.c_int, [c.c_void_p, c.c_uint, c.c_int, c.c_uint,
        c.POINTER(dk_diag)]),
    "dk_backend_set_online": (c.c_int, [c.c_void_p, c.c_uint, c.c_int, c.POINTER(dk_diag)]),
    "dk_backend_is_online": (c.c_int, [c.c_void_p, c.c_uint]),
    "dk_obj_on": (dk_obj, [c.c_uint, c.c_uint32]),
    "dk_obj_undefined": (dk_obj, []),
    "dk_call_decl": (c.POINTER(dk_op_decl), [c.POINTER(dk_call)]),
    "dk_local_current": (c.POINTER(dk_local), []),
    "dk_call_fn": (c.c_void_p, [c.POINTER(dk_call)]),
    "dk_call_local": (c.POINTER(dk_local), [c.POINTER(dk_call)]),
    "dk_call_frame": (c.c_void_p, [c.POINTER(dk_call)]),
    "dk_call_priv": (c.c_void_p, [c.POINTER(dk_call)]),
    "dk_call_device": (c.c_uint32, [c.POINTER(dk_call)]),
    "dk_call_key": (c.c_uint, [c.POINTER(dk_call)]),
    "dk_call_enter": (c.c_int, [c.c_void_p, c.POINTER(dk_op_decl), c.POINTER(dk_local),
        c.POINTER(c.POINTER(dk_obj)), c.c_uint]),
    "dk_call_enter_op": (c.c_int, [c.c_void_p, c.c_void_p, c.POINTER(dk_op_decl),
        c.POINTER(dk_local), c.POINTER(c.POINTER(dk_obj)), c.c_uint]),
    "dk_call_enter_key": (c.c_int, [c.c_void_p, c.c_void_p, c.POINTER(dk_op_decl),
        c.POINTER(dk_local), c.c_uint, c.POINTER(c.POINTER(dk_obj)), c.c_uint]),
    "dk_call_enter_keyset": (c.c_int, [c.c_void_p, c.c_void_p, c.POINTER(dk_op_decl),
        c.POINTER(dk_local), dk_keyset, c.POINTER(c.POINTER(dk_obj)), c.c_uint]),
    "dk_call_redispatch": (c.c_int, [c.c_void_p, c.POINTER(dk_call), c.POINTER(dk_op_decl),
        dk_keyset, c.POINTER(c.POINTER(dk_obj)), c.c_uint]),
    "dk_call_leave": (None, [c.c_void_p]),
    "dk_call_error_text": (c.c_char_p, [c.c_int]),
    "dk_call_below": (dk_keyset, [c.POINTER(dk_call)]),
    "dk_call_boxed": (c.c_int, [c.c_void_p, c.POINTER(dk_op_decl), c.POINTER(dk_local),
        c.c_void_p]),
    "dk_call_boxed_key": (c.c_int, [c.c_void_p, c.POINTER(dk_op_decl), c.POINTER(dk_local),
        c.c_uint, c.c_void_p]),
    "dk_redispatch_boxed": (c.c_int, [c.POINTER(dk_call), dk_keyset, c.c_void_p]),
    "dk_extracted": (c.c_int, [c.c_void_p, c.POINTER(c.POINTER(dk_obj)), c.c_uint, dk_keyset]),
    "dk_call_described": (c.POINTER(dk_op_decl), [c.POINTER(dk_call)]),
    "dk_call_takes": (c.c_int, [c.POINTER(dk_call), c.POINTER(dk_op_decl)]),
    "dk_deferred_init": (None, [c.POINTER(dk_deferred)]),
    "dk_call_defer": (c.c_int, [c.POINTER(dk_call), c.POINTER(dk_deferred)]),
    "dk_call_complete": (c.c_int, [c.POINTER(dk_deferred), c.c_int]),
    "dk_hooks_register": (c.c_int, [c.c_void_p, c.POINTER(dk_hooks), c.POINTER(dk_diag)]),
    "dk_hooks_unregister": (c.c_int, [c.POINTER(dk_hooks), c.POINTER(dk_diag)]),
    "dk_trace_line": (c.c_size_t, [c.POINTER(dk_hook_info), c.c_char_p, c.c_size_t]),
    "dk_provenance_name": (c.c_char_p, [c.c_uint]),
    "dk_op_entry": (c.c_int, [c.c_void_p, c.c_uint32, c.c_uint, c.POINTER(dk_entry)]),
    "dk_op_impl": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_impl_info)]),
    "dk_registry_next_op": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_op_info)]),
    "dk_op_route": (c.c_int, [c.c_void_p, dk_keyset, dk_keyset, c.POINTER(c.POINTER(dk_obj)),
        c.c_uint, c.POINTER(dk_route)]),
    "dk_op_dump": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_op_dump_table": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_op_list_keys": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_op_dump_extractor": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_missing_text": (c.c_size_t, [c.c_void_p, dk_keyset, c.c_char_p, c.c_size_t]),
    "dk_ambiguous_text": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_invariants_text": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_registry_list_ops": (c.c_long, [c.c_void_p, c.c_uint, c.c_char_p, c.c_size_t]),
    "dk_registry_list_dangling": (c.c_long, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_op_has_impl": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_diag)]),
    "dk_op_has_impl_in": (c.c_int, [c.c_void_p, dk_keyset]),
    "dk_op_is_served": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_diag)]),
    "dk_op_is_fallthrough": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_diag)]),
    "dk_registry_has_fallback": (c.c_int, [c.c_void_p, c.c_uint]),
    "dk_op_check": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_op_explain": (c.c_int, [c.c_void_p, dk_keyset, dk_keyset, c.POINTER(c.POINTER(dk_obj)),
        c.c_uint, c.POINTER(dk_explain)]),
    "dk_explain_step": (c.c_int, [c.c_void_p, c.POINTER(dk_explain), c.c_uint,
        c.POINTER(dk_step)]),
    "dk_registry_counts": (c.c_int, [c.c_void_p, c.POINTER(dk_counts)]),
    "dk_registry_backend": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_backend_info)]),
    "dk_registry_device": (c.c_int, [c.c_void_p, c.c_uint32, c.POINTER(dk_device_info)]),
    "dk_registry_next_device": (c.c_int, [c.c_void_p, c.c_uint32, c.POINTER(dk_device_info)]),
    "dk_registry_next_provider": (c.c_int, [c.c_void_p, c.c_uint64,
        c.POINTER(dk_provider_info)]),
    "dk_registry_limit": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_limit)]),
    "dk_stats_enable": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_stats_disable": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_stats_reset": (c.c_int, [c.c_void_p, c.POINTER(dk_diag)]),
    "dk_stats_get": (c.c_int, [c.c_void_p, c.POINTER(dk_stats)]),
    "dk_op_stat": (c.c_int, [c.c_void_p, c.c_uint, c.POINTER(dk_stat)]),
    "dk_provider_stat": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(dk_stat)]),
    "dk_schema_parse": (c.c_int, [c.c_char_p, c.POINTER(c.c_void_p), c.POINTER(dk_diag)]),
    "dk_schema_free": (None, [c.c_void_p]),
    "dk_schema_print": (c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "dk_type_print": (c.c_size_t, [c.POINTER(dk_type), c.c_char_p, c.c_size_t]),
    "dk_schema_name": (c.c_char_p, [c.c_void_p]),
    "dk_schema_overload": (c.c_char_p, [c.c_void_p]),
    "dk_schema_flags": (c.c_uint, [c.c_void_p]),
    "dk_schema_args": (c.c_uint, [c.c_void_p]),
    "dk_schema_argument": (c.POINTER(dk_schema_arg), [c.c_void_p, c.c_uint]),
    "dk_schema_returns": (c.c_uint, [c.c_void_p]),
    "dk_schema_return": (c.POINTER(dk_schema_arg), [c.c_void_p, c.c_uint]),
    "dk_schema_dispatch_mask": (c.c_int, [c.c_void_p, c.POINTER(c.c_uint64),
        c.POINTER(dk_diag)]),
    "dk_schema_compare": (c.c_int, [c.c_void_p, c.c_void_p, c.POINTER(dk_diag)]),
    "dk_schema_alias_analysis": (c.c_uint, [c.c_void_p]),
    "dk_schema_decl": (c.c_int, [c.c_void_p, c.POINTER(c.POINTER(dk_op_decl)),
        c.POINTER(dk_diag)]),
    "dk_schema_decl_free": (None, [c.POINTER(dk_op_decl)]),
    "dk_version": (c.c_char_p, []),
}
