// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle: runs the commands of a transcript in the installed PyTorch 1.13.1.
 *
 * Reads commands from the standard input, one on each line. Prints each with "> " before it and
 * the answer after it, as dkctl replay --transcript does. Every answer comes from libtorch: the
 * oracle registers operators and functions with libtorch's dispatcher, and calls them with
 * tensors that have any keyset. The command "layout" removes everything that a program has
 * registered. This file is longer than others, because each file that includes libtorch's headers
 * takes long to compile.
 *
 * It has these commands in addition to those of transcripts:
 *
 *   stock             prints libtorch's own backend fallbacks as commands
 *   installed         prints libtorch's own operators and their registrations as commands
 *   actual OP         prints the table that calls read (the command table computes it again)
 *   masks OP          prints a set for each backend: the functionalities that are not
 *                     fallthroughs for this backend
 *   invariants        runs libtorch's check of all its operators
 *   dangling          prints the number of operators that have functions but no definition
 *   missing OP SET    prints the first line of the error of a call
 */
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Logging.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cinttypes>
#include <cstdarg>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#if TORCH_VERSION_MAJOR != 1 || TORCH_VERSION_MINOR != 13
#error "The comparison is with PyTorch 1.13, and these headers are of another version."
#endif

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::KernelFunction;
using c10::OperatorHandle;
using c10::OperatorName;

/* ---- private members of libtorch ------------------------------------------------ */

/*
 * libtorch's calls read a table that is a private member, and that can differ from the table that
 * libtorch computes for a dump. C++ lets an explicit instantiation of a template name a private
 * member, which gives access to this table.
 */
using Table = std::array<KernelFunction, c10::num_runtime_entries>;

const c10::impl::OperatorEntry &entry_of(const OperatorHandle &op);
const Table &table_of(const c10::impl::OperatorEntry &entry);

template <auto Member> struct ShowEntry {
	friend const c10::impl::OperatorEntry &entry_of(const OperatorHandle &op)
	{
		return (op.*Member)->op;
	}
};
template struct ShowEntry<&OperatorHandle::operatorDef_>;

template <auto Member> struct ShowTable {
	friend const Table &table_of(const c10::impl::OperatorEntry &entry)
	{
		return entry.*Member;
	}
};
template struct ShowTable<&c10::impl::OperatorEntry::dispatchTable_>;

static c10::Dispatcher &dispatcher()
{
	return c10::Dispatcher::singleton();
}

/* ---- words ------------------------------------------------------------------- */

struct refused : std::runtime_error {
	using std::runtime_error::runtime_error;
};

static std::string hex(uint64_t bits)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, bits);
	return buf;
}

static std::string hex(DispatchKeySet ks)
{
	return hex(ks.raw_repr());
}

/* Every key except sentinels, by the name that libtorch prints. */
static const std::map<std::string, DispatchKey> &keys()
{
	static const std::map<std::string, DispatchKey> map = [] {
		std::map<std::string, DispatchKey> m;
		auto last = static_cast<uint16_t>(DispatchKey::EndOfAliasKeys);

		for (uint16_t v = 0; v <= last; v++) {
			auto k = static_cast<DispatchKey>(v);
			std::string name = c10::toString(k);

			if (name.find("Unknown") == std::string::npos)
				m.emplace(name, k);
		}
		return m;
	}();
	return map;
}

static DispatchKey key_word(const std::string &word)
{
	auto at = keys().find(word);

	if (at == keys().end())
		throw refused("no such key: " + word);
	return at->second;
}

static c10::BackendComponent bit_word(const std::string &word)
{
	auto last = static_cast<uint8_t>(c10::BackendComponent::EndOfBackendKeys);

	for (uint8_t b = 0; b <= last; b++) {
		auto bit = static_cast<c10::BackendComponent>(b);

		if (word == c10::toString(bit))
			return bit;
	}
	throw refused("no such backend bit: " + word);
}

static DispatchKeySet raw_set(uint64_t bits)
{
	return DispatchKeySet(DispatchKeySet::RAW, bits);
}

static DispatchKeySet set_word(const std::string &word)
{
	DispatchKeySet ks;
	std::string name;

	if (word.compare(0, 2, "0x") == 0)
		return raw_set(std::stoull(word, nullptr, 16));
	for (std::istringstream in(word); std::getline(in, name, '|');) {
		auto at = keys().find(name);

		ks = ks | (at != keys().end() ? DispatchKeySet(at->second) :
						DispatchKeySet(bit_word(name)));
	}
	return ks;
}

static OperatorName op_word(const std::string &word)
{
	size_t from = word.find("::"), dot;

	dot = word.find('.', from == std::string::npos ? 0 : from);
	if (dot == std::string::npos)
		return OperatorName(word, "");
	return OperatorName(word.substr(0, dot), word.substr(dot + 1));
}

static OperatorHandle find_op(const std::string &word)
{
	auto op = dispatcher().findOp(op_word(word));

	if (!op)
		throw refused("no such operator: " + word);
	return *op;
}

/* Returns a label for a function. libtorch's own functions are named FILE:LINE. */
static std::string label_word(const std::string &debug)
{
	static const std::string at = "registered at ";
	std::string word = debug;

	if (debug.compare(0, at.size(), at) == 0)
		word = debug.substr(debug.find_last_of("/ ") + 1);
	for (auto &c : word) {
		if (c == ' ')
			c = '_';
	}
	return word;
}

/* ---- functions that record that they ran --------------------------------------- */

static struct {
	const std::string *label;
	DispatchKeySet ks;
	unsigned int times;
} ran;

class Recorder final : public c10::OperatorKernel {
public:
	explicit Recorder(std::string label) : label_(std::move(label)) {}
	void operator()(const OperatorHandle &, DispatchKeySet ks, torch::jit::Stack *stack)
	{
		ran.label = &label_;
		ran.ks = ks;
		ran.times++;
		stack->clear();
	}

private:
	std::string label_;
};

static KernelFunction recorder(const std::string &label)
{
	return KernelFunction::makeFromBoxedFunctor(std::make_unique<Recorder>(label));
}

/* A tensor with the given keyset, and without data. */
struct AnyTensor final : c10::TensorImpl {
	explicit AnyTensor(DispatchKeySet ks)
		: TensorImpl(DispatchKeySet(DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
			     c10::Device(c10::DeviceType::CPU))
	{
		key_set_ = ks;
	}
};

static at::Tensor tensor(DispatchKeySet ks)
{
	return at::Tensor(c10::make_intrusive<AnyTensor>(ks));
}

/* ---- the registrations of a program --------------------------------------------- */

struct Registration {
	std::string op;		/* empty: a backend fallback */
	std::string label;	/* empty: a definition */
	c10::RegistrationHandleRAII handle;
};

struct Guard {
	std::unique_ptr<c10::impl::IncludeDispatchKeyGuard> include;
	std::unique_ptr<c10::impl::ExcludeDispatchKeyGuard> exclude;
};

static std::list<Registration> registrations;
static std::vector<Guard> guards;
static std::unique_ptr<Table> stock_table;	/* of an operator without functions */
static std::map<std::string, std::string> stock_labels;		/* by key */

static void force_local(DispatchKeySet included, DispatchKeySet excluded)
{
	c10::impl::PODLocalDispatchKeySet words{};

	words.set_included(included);
	words.set_excluded(excluded);
	c10::impl::_force_tls_local_dispatch_key_set(words);
}

static void start_over()
{
	while (!guards.empty())
		guards.pop_back();
	force_local(c10::default_included_set, c10::default_excluded_set);
	registrations.clear();
}

template <typename Want> static unsigned int take_out(Want want)
{
	unsigned int n = 0;

	for (auto r = registrations.begin(); r != registrations.end();) {
		if (want(*r)) {
			r = registrations.erase(r);
			n++;
		} else {
			++r;
		}
	}
	return n;
}

/* ---- tables ----------------------------------------------------------------------- */

/* The key name of each slot. */
static const std::vector<std::string> &slots()
{
	static const std::vector<std::string> names = [] {
		std::vector<std::string> v = { "Undefined" };

		for (auto k : DispatchKeySet(DispatchKeySet::FULL))
			v.push_back(c10::toString(k));
		return v;
	}();
	return names;
}

struct Line {
	std::string key, label, provenance;
	bool is_fallthrough;
};

/* Parses the lines of dumpComputedTable(): KEY: [fallthrough ]LABEL [PROVENANCE] */
static std::vector<Line> table_lines(const OperatorHandle &op)
{
	static const std::string mark = "fallthrough ";
	std::istringstream in(op.dumpComputedTable());
	std::vector<Line> lines;
	std::string text;

	while (std::getline(in, text)) {
		size_t colon = text.find(": "), bracket = text.rfind(" [");
		Line l;

		l.key = text.substr(0, colon);
		l.label = text.substr(colon + 2, bracket - colon - 2);
		l.provenance = text.substr(bracket + 2, text.size() - bracket - 3);
		l.is_fallthrough = l.label.compare(0, mark.size(), mark) == 0;
		if (l.is_fallthrough)
			l.label.erase(0, mark.size());
		/* transcripts use the label "fallthrough" for fallbacks that fall through */
		l.label = l.is_fallthrough && l.provenance == "backend fallback" ?
				  "fallthrough" : label_word(l.label);
		lines.push_back(l);
	}
	return lines;
}

static std::string put_lines(const OperatorHandle &op)
{
	std::string out;

	for (const auto &l : table_lines(op))
		out += l.key + ": " + (l.is_fallthrough ? "fallthrough " : "") + l.label +
		       " [" + l.provenance + "]\n";
	return out;
}

/* Prints FIRST[..LAST]=WORD for each run of the same word, except for the empty word. */
static std::string put_runs(const std::vector<std::string> &words)
{
	std::string out;
	size_t i, first = 0;

	for (i = 1; i <= words.size(); i++) {
		if (i < words.size() && words[i] == words[first])
			continue;
		if (!words[first].empty()) {
			out += (out.empty() ? "" : " ") + std::to_string(first);
			if (i - 1 > first)
				out += ".." + std::to_string(i - 1);
			out += "=" + words[first];
		}
		first = i;
	}
	return (out.empty() ? "-" : out) + "\n";
}

static std::string put_table(const OperatorHandle &op)
{
	std::vector<std::string> words(c10::num_runtime_entries);
	auto lines = table_lines(op);
	size_t slot = 0;

	for (const auto &l : lines) {
		std::string provenance = l.provenance, label = l.label;

		for (auto &c : provenance) {
			if (c == ' ')
				c = '-';
		}
		if (provenance == "ambiguous-autogradother")
			label = "ambiguous";
		else if (l.is_fallthrough && provenance != "backend-fallback")
			label += "(fallthrough)";
		while (slots().at(slot) != l.key)
			slot++;
		words[slot] = label + "/" + provenance;
	}
	return put_runs(words);
}

/* ---- calls -------------------------------------------------------------------------- */

static bool same(const KernelFunction &a, const KernelFunction &b)
{
	return a._equalsBoxedAndUnboxed(b);
}

/* Returns true for a function that the oracle has registered. Only these can be called. */
static bool is_recorder(const KernelFunction &kernel)
{
	static const KernelFunction ours = recorder("");

	return same(kernel, ours);
}

static std::string run_kernel(const OperatorHandle &op, const KernelFunction &kernel,
			      DispatchKeySet ks)
{
	torch::jit::Stack stack;

	ran.times = 0;
	kernel.callBoxed(op, ks, &stack);
	return ran.times == 1 && ran.ks == ks ? *ran.label : "(called wrongly)";
}

/* Returns the answer for an entry that is not a Recorder. */
static std::string name_of(const KernelFunction &kernel, size_t slot)
{
	static const KernelFunction ambiguous = KernelFunction::makeAmbiguousAutogradOther();

	if (!kernel.isValid())
		return "missing";
	if (kernel.isFallthrough())
		return "fallthrough";
	if (same(kernel, ambiguous))
		return "ambiguous";
	if (stock_table && same(kernel, (*stock_table)[slot]))
		return stock_labels.at(slots()[slot]);
	return "(function)";
}

static std::string put_actual(const OperatorHandle &op)
{
	std::vector<std::string> words;
	const auto &table = table_of(entry_of(op));
	size_t slot;

	for (slot = 0; slot < table.size(); slot++) {
		const auto &kernel = table[slot];

		words.push_back(is_recorder(kernel) ? run_kernel(op, kernel, DispatchKeySet()) :
						      name_of(kernel, slot));
	}
	return put_runs(words);
}

/*
 * For each backend, computes the keyset of a call whose argument has every functionality, this
 * backend, and all lower backends. The functionalities that are left are the mask of this backend.
 */
static std::string put_masks(const OperatorHandle &op)
{
	c10::impl::ForceDispatchKeyGuard keep(c10::impl::tls_local_dispatch_key_set());
	const auto &extractor = entry_of(op).dispatchKeyExtractor();
	const uint64_t functionalities = DispatchKeySet(DispatchKeySet::FULL).raw_repr() &
					 ~static_cast<uint64_t>(c10::full_backend_mask);
	std::string out;
	unsigned int b;

	force_local(DispatchKeySet(), DispatchKeySet());
	for (b = 0; b < c10::num_backends; b++) {
		auto ks = extractor.getDispatchKeySetUnboxed(
			tensor(raw_set(functionalities | ((2ull << b) - 1))));

		out += (b ? " " : "") + hex(ks.raw_repr() & functionalities);
	}
	return out + "\n";
}

/*
 * Calls the operator with typed arguments, and then with a stack of boxed arguments. Returns the
 * label of the function that was called, or a text if the calls were wrong.
 */
static std::string call_recorder(const OperatorHandle &op, const std::vector<at::Tensor> &args,
				 DispatchKeySet ks)
{
	torch::jit::Stack stack;
	std::string label;

	ran.times = 0;
	op.typed<void(at::TensorList)>().call(args);
	if (ran.times != 1 || ran.ks != ks)
		return "(called wrongly)";
	label = *ran.label;
	stack.emplace_back(c10::List<at::Tensor>(at::ArrayRef<at::Tensor>(args)));
	op.callBoxed(&stack);
	if (ran.times != 2 || ran.ks != ks || label != *ran.label)
		return "(called wrongly from a stack)";
	return label;
}

static std::string call_none(const OperatorHandle &op, const std::vector<at::Tensor> &args,
			     const std::string &name)
{
	ran.times = 0;
	try {
		op.typed<void(at::TensorList)>().call(args);
	} catch (const c10::Error &) {
		return ran.times ? "(called one)" : name;
	}
	return "(no error)";
}

/*
 * Calls the operator, unless a fallback or another function of libtorch would serve the call. Such
 * a function could do other work, such as another call, so only its name is returned.
 */
static std::string route(const OperatorHandle &op, const std::vector<at::Tensor> &args)
{
	const auto &entry = entry_of(op);
	auto ks = entry.dispatchKeyExtractor().getDispatchKeySetUnboxed(at::TensorList(args));
	auto slot = static_cast<size_t>(ks.getDispatchTableIndexForDispatchKeySet());
	const auto &kernel = table_of(entry)[slot];
	std::string label;

	if (!op.hasSchema())
		throw refused("not defined");
	if (is_recorder(kernel)) {
		label = call_recorder(op, args, ks);
	} else {
		label = name_of(kernel, slot);
		if (label == "missing" || label == "ambiguous" || label == "fallthrough")
			label = call_none(op, args, label);
	}
	return hex(ks) + " " + c10::toString(ks.highestPriorityTypeId()) + " " + label + "\n";
}

/* ---- commands ----------------------------------------------------------------------- */

struct Words {
	std::vector<std::string> arg;
	bool c = false, f = false, i = false, s = false;

	const std::string &at(size_t n) const
	{
		if (n >= arg.size())
			throw refused("too few words");
		return arg[n];
	}
};

typedef std::string (*run_t)(const Words &);

static std::string put_bool(bool yes)
{
	return yes ? "true\n" : "false\n";
}

static std::string put_key(DispatchKey k)
{
	return std::string(c10::toString(k)) + "\n";
}

static std::string run_layout(const Words &w)
{
	if (w.at(0) != "pytorch-1.13")
		throw refused("only pytorch-1.13 is installed");
	start_over();
	return "";
}

static std::string run_layout_info(const Words &)
{
	auto backends = static_cast<unsigned int>(c10::num_backends);
	unsigned int v, nf = c10::num_functionality_keys;
	std::ostringstream out;

	out << "backends=" << backends << " functionalities=" << nf << " entries="
	    << static_cast<unsigned int>(c10::num_runtime_entries) << " full="
	    << hex(DispatchKeySet(DispatchKeySet::FULL)) << "\n";
	for (v = 1; v <= backends; v++)
		out << "backend " << v << " bit=" << v - 1 << " "
		    << c10::toString(static_cast<c10::BackendComponent>(v)) << "\n";
	for (v = 0; v < nf; v++) {
		auto k = static_cast<DispatchKey>(v);
		int bit = static_cast<int>(DispatchKeySet(k).indexOfHighestBit()) - 1;

		out << "functionality " << v << " bit=" << bit << " per-backend="
		    << c10::isPerBackendFunctionalityKey(k) << " offset="
		    << c10::getDispatchTableIndexForDispatchKey(k) << " " << c10::toString(k)
		    << "\n";
	}
	return out.str();
}

static std::string run_key(const Words &w)
{
	DispatchKey k = key_word(w.at(0));

	return "value=" + std::to_string(static_cast<unsigned int>(k)) +
	       " set=" + hex(DispatchKeySet(k)) + " index=" +
	       std::to_string(c10::getDispatchTableIndexForDispatchKey(k)) +
	       " functionality=" + c10::toString(c10::toFunctionalityKey(k)) +
	       " backend=" + c10::toString(c10::toBackendComponent(k)) + "\n";
}

static std::string run_alias(const Words &w)
{
	DispatchKey alias = key_word(w.at(0));
	std::string out = hex(c10::getRuntimeDispatchKeySet(alias));

	for (auto k : DispatchKeySet(DispatchKeySet::FULL)) {
		if (c10::isIncludedInAlias(k, alias))
			out += std::string(" ") + c10::toString(k);
	}
	return out + "\n";
}

static std::string run_keyset(const Words &w)
{
	DispatchKeySet ks = set_word(w.at(0));

	return hex(ks) + " top=" + c10::toString(ks.highestPriorityTypeId()) +
	       " functionality=" + c10::toString(ks.highestFunctionalityKey()) + " backend=" +
	       c10::toString(ks.highestBackendKey()) + " index=" +
	       std::to_string(ks.getDispatchTableIndexForDispatchKeySet()) + " " +
	       c10::toString(ks) + "\n";
}

/* Prints the keyset of a new tensor, which the constructor of all tensors computes. */
static std::string run_fresh(const Words &w)
{
	c10::InferenceMode mode(w.i);
	auto impl = c10::make_intrusive<c10::TensorImpl>(DispatchKeySet(key_word(w.at(0))),
							 caffe2::TypeMeta(), c10::nullopt);

	return hex(impl->key_set()) + "\n";
}

static std::string run_constant(const Words &w)
{
	static const std::map<std::string, DispatchKeySet> sets = {
		{ "autograd_dispatch_keyset", c10::autograd_dispatch_keyset },
		{ "autograd_dispatch_keyset_with_ADInplaceOrView",
		  c10::autograd_dispatch_keyset_with_ADInplaceOrView },
		{ "autocast_dispatch_keyset", c10::autocast_dispatch_keyset },
		{ "default_included_set", c10::default_included_set },
		{ "default_excluded_set", c10::default_excluded_set },
		{ "python_ks", c10::python_ks },
		{ "sparse_ks", c10::sparse_ks },
		{ "sparse_csr_ks", c10::sparse_csr_ks },
		{ "mkldnn_ks", c10::mkldnn_ks },
		{ "autogradother_backends", c10::autogradother_backends },
		{ "after_autograd_keyset", c10::after_autograd_keyset },
		{ "after_ADInplaceOrView_keyset", c10::after_ADInplaceOrView_keyset },
		{ "after_func_keyset", c10::after_func_keyset },
		{ "backend_bitset_mask", c10::backend_bitset_mask },
		{ "functorch_transforms_ks", c10::functorch_transforms_ks },
		{ "backend_functionality_keys", c10::backend_functionality_keys },
	};
	auto at = sets.find(w.at(0));

	if (at == sets.end())
		throw refused("no such set");
	return hex(at->second) + "\n";
}

static std::string run_op(const Words &w)
{
	OperatorName name = op_word(w.at(0));
	c10::FunctionSchema schema(name.name, name.overload_name,
				   { c10::Argument("xs", c10::ListType::ofTensors()) }, {});

	registrations.push_back({ w.at(0), "",
				  dispatcher().registerDef(std::move(schema), "defined") });
	return "";
}

static std::string run_undef(const Words &w)
{
	const std::string &name = w.at(0);

	if (!take_out([&](const Registration &r) { return r.op == name; }))
		throw refused("nothing to remove");
	return "";
}

static std::string run_impl(const Words &w)
{
	c10::optional<DispatchKey> key;

	if (w.at(1) != "-" && key_word(w.at(1)) != DispatchKey::Undefined)
		key = key_word(w.at(1));
	registrations.push_back({ w.at(0), w.at(2),
		dispatcher().registerImpl(op_word(w.at(0)), key,
			w.f ? KernelFunction::makeFallthrough() : recorder(w.at(2)),
			c10::nullopt, nullptr, w.at(2)) });
	return "";
}

/* Like Library::fallback(): registers at each runtime key, or at no key if one is refused. */
static std::string run_fallback(const Words &w)
{
	DispatchKey key = key_word(w.at(0));
	std::list<Registration> made;

	if (key == DispatchKey::Undefined)
		throw refused("a fallback needs a key");
	for (auto k : c10::getRuntimeDispatchKeySet(key)) {
		bool falls = w.at(1) == "fallthrough";

		made.push_back({ "", w.at(1),
			dispatcher().registerFallback(
				k, falls ? KernelFunction::makeFallthrough() : recorder(w.at(1)),
				w.at(1)) });
	}
	registrations.splice(registrations.end(), made);
	return "";
}

static std::string run_drop(const Words &w)
{
	const std::string &label = w.at(0);

	if (!take_out([&](const Registration &r) { return r.label == label; }))
		throw refused("nothing has this label");
	return "";
}

static std::string run_table(const Words &w)
{
	OperatorHandle op = find_op(w.at(0));

	return w.c ? put_table(op) : put_lines(op);
}

/* The three lines about the schema become "schema: (none)", as transcripts have no schemas. */
static std::string run_dump(const Words &w)
{
	std::istringstream in(find_op(w.at(0)).dumpState());
	std::string out, line;

	while (std::getline(in, line)) {
		if (line.compare(0, 8, "schema: ") == 0)
			line = "schema: (none)";
		else if (line.compare(0, 7, "debug: ") == 0 ||
			 line.compare(0, 15, "alias analysis ") == 0)
			continue;
		out += line + "\n";
	}
	return out;
}

static std::string run_local(const Words &w)
{
	force_local(set_word(w.at(0)), set_word(w.at(1)));
	return "";
}

static std::string run_include(const Words &w)
{
	DispatchKeySet ks = set_word(w.at(0));

	guards.push_back({ std::make_unique<c10::impl::IncludeDispatchKeyGuard>(ks), nullptr });
	return "";
}

static std::string run_exclude(const Words &w)
{
	DispatchKeySet ks = set_word(w.at(0));

	guards.push_back({ nullptr, std::make_unique<c10::impl::ExcludeDispatchKeyGuard>(ks) });
	return "";
}

static std::string run_end(const Words &)
{
	if (guards.empty())
		throw refused("no guard is open");
	guards.pop_back();
	return "";
}

static std::string run_tls(const Words &)
{
	auto local = c10::impl::tls_local_dispatch_key_set();

	return "included=" + hex(local.included_) + " excluded=" + hex(local.excluded_) + "\n";
}

static std::string run_route(const Words &w)
{
	return route(find_op(w.at(0)), { tensor(set_word(w.at(1))) });
}

static std::string run_call(const Words &w)
{
	OperatorHandle op = find_op(w.at(0));
	std::vector<at::Tensor> args;
	DispatchKeySet raw;
	size_t i;

	for (i = 1; i < w.arg.size(); i++) {
		args.push_back(tensor(set_word(w.arg[i])));
		raw = raw | args.back().key_set();
	}
	return hex(raw) + " " + route(op, args);
}

/* ---- the library's own operators -------------------------------------------------- */

static std::string run_stock(const Words &)
{
	static const OperatorName name("dispatchkey_probe::none", "");
	auto handle = dispatcher().registerName(name);
	OperatorHandle op = *dispatcher().findOp(name);
	std::string out;

	stock_table = std::make_unique<Table>(table_of(entry_of(op)));
	for (const auto &l : table_lines(op)) {
		stock_labels[l.key] = l.label;
		out += "fallback " + l.key + " " + l.label + "\n";
	}
	return out;
}

/* Converts a line of dumpState(): KEY[[alias]][ (inactive)]: DEBUG :: SCHEMA [ STATE] */
static std::string impl_command(const std::string &name, const std::string &line)
{
	size_t colon = line.find(": "), end = line.find(" :: "), state = line.rfind(" [ ");
	std::string key = line.substr(0, colon);
	bool falls = line.find("fallthrough ", state) != std::string::npos;

	for (const char *mark : { " (inactive)", "[alias]" }) {
		size_t at = key.find(mark);

		if (at != std::string::npos)
			key.erase(at, strlen(mark));
	}
	return std::string("impl ") + (falls ? "-f " : "") + name + " " + key + " " +
	       label_word(line.substr(colon + 2, end - colon - 2)) + "\n";
}

static std::string run_installed(const Words &)
{
	std::map<std::string, OperatorName> names;
	std::string out;

	for (const auto &name : dispatcher().getRegistrationsForDispatchKey(c10::nullopt))
		names.emplace(c10::toString(name), name);
	for (const auto &n : names) {
		std::istringstream in(dispatcher().findOp(n.second)->dumpState());
		std::vector<std::string> lines;
		std::string line;

		while (std::getline(in, line)) {
			if (line.compare(0, 6, "name: ") && line.compare(0, 8, "schema: ") &&
			    line.compare(0, 7, "debug: ") && line.compare(0, 15, "alias analysis "))
				lines.push_back(impl_command(n.first, line));
		}
		out += "op " + n.first + "\n";
		/* reverses the order: the newest function at a key is printed first */
		for (auto l = lines.rbegin(); l != lines.rend(); ++l)
			out += *l;
	}
	return out;
}

static std::string run_invariants(const Words &)
{
	dispatcher().checkInvariants();
	return "";
}

static std::string run_dangling(const Words &)
{
	return std::to_string(dispatcher().findDanglingImpls().size()) + "\n";
}

static std::string run_missing(const Words &w)
{
	OperatorHandle op = find_op(w.at(0));

	try {
		entry_of(op).lookup(set_word(w.at(1)));
	} catch (const c10::Error &e) {
		std::string text = e.what_without_backtrace();

		return text.substr(0, text.find(". ") + 1) + "\n";
	}
	return "(found)\n";
}

/* ---- the list of commands ------------------------------------------------------------ */

static std::string set_op(const Words &w, DispatchKeySet (*f)(DispatchKeySet, DispatchKeySet))
{
	return hex(f(set_word(w.at(0)), set_word(w.at(1)))) + "\n";
}

static const std::map<std::string, run_t> commands = {
	{ "layout", run_layout },
	{ "layout-info", run_layout_info },
	{ "key", run_key },
	{ "alias", run_alias },
	{ "backends-of-autograd", [](const Words &w) {
		return hex(c10::getBackendKeySetFromAutograd(key_word(w.at(0)))) + "\n"; } },
	{ "autograd-of-backend", [](const Words &w) {
		return hex(c10::getAutogradRelatedKeySetFromBackend(bit_word(w.at(0)))) + "\n"; } },
	{ "autocast-of-backend", [](const Words &w) {
		return hex(c10::getAutocastRelatedKeySetFromBackend(bit_word(w.at(0)))) + "\n"; } },
	{ "full-after", [](const Words &w) {
		return hex(DispatchKeySet(DispatchKeySet::FULL_AFTER, key_word(w.at(0)))) + "\n"; } },
	{ "constant", run_constant },
	{ "fresh", run_fresh },
	{ "keyset", run_keyset },
	{ "or", [](const Words &w) {
		return set_op(w, [](DispatchKeySet a, DispatchKeySet b) { return a | b; }); } },
	{ "and", [](const Words &w) {
		return set_op(w, [](DispatchKeySet a, DispatchKeySet b) { return a & b; }); } },
	{ "sub", [](const Words &w) {
		return set_op(w, [](DispatchKeySet a, DispatchKeySet b) { return a - b; }); } },
	{ "xor", [](const Words &w) {
		return set_op(w, [](DispatchKeySet a, DispatchKeySet b) { return a ^ b; }); } },
	{ "remove", [](const Words &w) {
		return hex(set_word(w.at(0)).remove(key_word(w.at(1)))) + "\n"; } },
	{ "remove-backend", [](const Words &w) {
		return hex(set_word(w.at(0)).remove_backend(bit_word(w.at(1)))) + "\n"; } },
	{ "has", [](const Words &w) {
		return put_bool(set_word(w.at(0)).has(key_word(w.at(1)))); } },
	{ "has-any", [](const Words &w) {
		return put_bool(set_word(w.at(0)).has_any(set_word(w.at(1)))); } },
	{ "has-all", [](const Words &w) {
		return put_bool(set_word(w.at(0)).has_all(set_word(w.at(1)))); } },
	{ "is-backend-key", [](const Words &w) {
		return put_bool(c10::isBackendDispatchKey(key_word(w.at(0)))); } },
	{ "parse", [](const Words &w) { return put_key(c10::parseDispatchKey(w.at(0))); } },
	{ "legacy-extract", [](const Words &w) {
		return put_key(c10::legacyExtractDispatchKey(set_word(w.at(0)))); } },
	{ "backend-type", [](const Words &w) {
		return put_key(c10::highestPriorityBackendTypeId(set_word(w.at(0)))); } },
	{ "op", run_op },
	{ "undef", run_undef },
	{ "impl", run_impl },
	{ "fallback", run_fallback },
	{ "drop", run_drop },
	{ "table", run_table },
	{ "dump", run_dump },
	{ "local", run_local },
	{ "include", run_include },
	{ "exclude", run_exclude },
	{ "end", run_end },
	{ "tls", run_tls },
	{ "route", run_route },
	{ "call", run_call },
	{ "stock", run_stock },
	{ "installed", run_installed },
	{ "actual", [](const Words &w) { return put_actual(find_op(w.at(0))); } },
	{ "masks", [](const Words &w) { return put_masks(find_op(w.at(0))); } },
	{ "invariants", run_invariants },
	{ "dangling", run_dangling },
	{ "missing", run_missing },
};

static std::string run_line(const std::string &line)
{
	std::istringstream in(line);
	std::string name, word;
	Words w;

	in >> name;
	while (in >> word) {
		if (word == "-c")
			w.c = true;
		else if (word == "-f")
			w.f = true;
		else if (word == "-i")
			w.i = true;
		else if (word == "-s")
			w.s = true;
		else
			w.arg.push_back(word);
	}
	auto command = commands.find(name);
	if (command == commands.end())
		throw refused("unknown command");
	return command->second(w);
}

static std::string first_line(std::string text)
{
	return text.substr(0, text.find('\n'));
}

/* PyTorch's warnings (a function that overrides another) are not part of the answer. */
struct Quiet final : c10::WarningHandler {
	void process(const c10::SourceLocation &, const std::string &, bool) override {}
};

/* Called by the program, or by Python after it has imported torch. */
extern "C" int oracle()
{
	Quiet quiet;
	std::string line, answer;

	c10::Warning::set_warning_handler(&quiet);
	c10::SetStackTraceFetcher([] { return std::string(); });
	std::ios::sync_with_stdio(false);
	while (std::getline(std::cin, line)) {
		try {
			answer = run_line(line);
		} catch (const c10::Error &e) {
			answer = "error: " + first_line(e.what_without_backtrace()) + "\n";
		} catch (const std::exception &e) {
			answer = "error: " + first_line(e.what()) + "\n";
		}
		std::cout << "> " << line << "\n" << answer;
	}
	start_over();
	std::cout.flush();
	return 0;
}

int main()
{
	return oracle();
}
