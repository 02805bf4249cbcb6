# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""An operator of PyTorch. To explain it: python3 -m dispatchkey.torch explain mine::twice
--load samples/torch_op.py --on cpu"""
import torch.library

mine = torch.library.Library("mine", "DEF")
mine.define("twice(Tensor a) -> Tensor")
mine.impl("twice", lambda a: a + a, "CPU")
