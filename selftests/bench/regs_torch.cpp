// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the registrations of regs.c in libtorch, through torch::Library. libtorch already
 * defines PyTorch's operators, so the program registers them in other namespaces. It leaves out
 * functions at keys that libtorch does not know, replaces types in schemas that libtorch does not
 * know, and prints how many functions and types these are.
 */
#include "regs.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

using torch::CppFunction;
using torch::Library;

struct Impl {
	c10::DispatchKey key;
	bool is_fallthrough;
};

struct Op {
	std::string ns, name, schema;	/* name and schema without the namespace */
	std::vector<Impl> impls;
};

static const regs_all *all;
static std::vector<Op> ops, fresh;
static std::vector<c10::OperatorName> names;
static std::map<std::string, std::unique_ptr<Library>> everyone, guests;
static std::unique_ptr<Library> for_all;
static std::vector<c10::OperatorHandle> found;

static void serve(const c10::OperatorHandle &, torch::jit::Stack *)
{
}

/* PyTorch would print a warning for every function that overrides another function. */
struct Quiet : c10::WarningHandler {
	void process(const c10::SourceLocation &, const std::string &, bool) override {}
};
static Quiet quiet;

/* ---- the registrations ------------------------------------------------------------ */

static Op convert(const regs_op &from, unsigned int &replaced)
{
	const char *colons = strstr(from.name, "::");
	Op op;

	op.ns = "bench_" + std::string(from.name, colons);
	op.name = colons + 2;
	if (!from.schema)
		return op;
	op.schema = strstr(from.schema, "::") + 2;
	try {
		torch::jit::parseSchema(op.schema);
	} catch (const std::exception &) {
		op.schema = op.name + "(Tensor x) -> Tensor";
		replaced++;
	}
	return op;
}

static void prepare(const regs_all *of)
{
	unsigned int replaced = 0, unknown = 0, ignored = 0;

	c10::Warning::set_warning_handler(&quiet);

	all = of;
	for (unsigned int i = 0; i < all->num_ops; i++) {
		ops.push_back(convert(all->ops[i], replaced));
		for (unsigned int j = 0; j < all->ops[i].num_impls; j++) {
			const regs_impl &impl = all->ops[i].impls[j];

			try {
				ops.back().impls.push_back({ c10::parseDispatchKey(impl.key),
							     impl.is_fallthrough != 0 });
			} catch (const std::exception &) {
				unknown++;
			}
		}
	}
	for (unsigned int i = 0; i < REGS_ONES; i++) {
		const Op &op = ops[all->chosen[i]];
		std::string name = op.name.substr(0, op.name.find('.'));
		std::string overload = op.name.find('.') == std::string::npos ?
					       "" : op.name.substr(op.name.find('.') + 1);

		names.push_back({ op.ns + "::" + name, overload });
		fresh.push_back(convert(all->fresh[i], ignored));
	}
	printf("note\t%u of %u functions are left out, because libtorch 1.13.1 does not know their keys."
	       " In %u schemas, types that it does not know are replaced.\n",
	       unknown, all->num_impls, replaced);
}

static Library &library(std::map<std::string, std::unique_ptr<Library>> &of, const std::string &ns)
{
	std::unique_ptr<Library> &lib = of[ns];

	if (!lib)
		lib = std::make_unique<Library>(Library::FRAGMENT, ns, c10::nullopt, __FILE__,
						__LINE__);
	return *lib;
}

static CppFunction function(const Impl &impl)
{
	return torch::dispatch(impl.key, impl.is_fallthrough ?
					 CppFunction::makeFallthrough() :
					 CppFunction::makeFromBoxedFunction<&serve>());
}

static void load()
{
	for (const Op &op : ops) {
		Library &lib = library(everyone, op.ns);

		if (!op.schema.empty())
			lib.def(op.schema.c_str());
		for (const Impl &impl : op.impls)
			lib.impl(op.name.c_str(), function(impl));
	}
}

static void unload()
{
	everyone.clear();
}

static unsigned int num_ops()
{
	return c10::Dispatcher::singleton().getAllOpNames().size();
}

/* ---- one by one ------------------------------------------------------------------ */

static void nothing()
{
}

/* Creates the libraries, so that the timed functions do not. */
static void come()
{
	for (const Op &op : fresh)
		library(guests, op.ns);
	for_all = std::make_unique<Library>(Library::IMPL, "_", c10::nullopt, __FILE__, __LINE__);
}

static void go()
{
	guests.clear();
	for_all.reset();
}

static void define()
{
	for (const Op &op : fresh)
		library(guests, op.ns).def(op.schema.c_str());
}

static void register_each(c10::DispatchKey key)
{
	for (unsigned int i = 0; i < REGS_ONES; i++) {
		const Op &op = ops[all->chosen[i]];

		library(guests, op.ns).impl(op.name.c_str(), function({ key, false }));
	}
}

static void register_at_key()
{
	register_each(c10::parseDispatchKey(REGS_KEY));
}

static void register_at_alias()
{
	register_each(c10::parseDispatchKey(REGS_ALIAS));
}

static void register_fallback()
{
	for_all->fallback(function({ c10::parseDispatchKey(REGS_FALLBACK), false }));
}

static void register_fallthrough()
{
	for_all->fallback(function({ c10::parseDispatchKey(REGS_FALLBACK), true }));
}

static void find()
{
	for (const c10::OperatorName &name : names)
		found.push_back(c10::Dispatcher::singleton().findOp(name).value());
}

static void put()
{
	found.clear();
}

static const regs_contender contenders[] = {
	{ "define.schema", REGS_ONES, come, define, go },
	{ "impl", REGS_ONES, come, register_at_key, go },
	{ "impl.alias", REGS_ONES, come, register_at_alias, go },
	{ "fallback", 1, come, register_fallback, go },
	{ "fallback.through", 1, come, register_fallthrough, go },
	{ "name", REGS_ONES, nothing, find, put },
};

const regs_side regs_torch = {
	"torch.", prepare, load, unload, nothing, num_ops, contenders,
	sizeof(contenders) / sizeof(contenders[0]),
};
