// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Keeps the cards, the registrations for them and for the host, and the counters.
 */
#include "functions.hpp"

#include <ATen/core/Tensor.h>

#include <pthread.h>

#include <cstdlib>
#include <vector>

/* Made at its first use: PyTorch's registrations can run before a global is initialised. */
struct machine {
	card cards[num_cards];
	dk_provider provider = DK_PROVIDER("host");
	unsigned int backend = 0;
	/* One function per operator, registered at the backend's Dense key and for each card. */
	std::vector<dk_impl> functions;

	std::mutex plugging;		/* one card at a time */
	std::mutex lock;		/* protects the counts */
	counts counts_of_gone;		/* the counts of cards that were unplugged */
};

static bool forked;			/* true in a child, where the cards have no threads */

/*
 * Returns the one machine. It is never destroyed, because in a child after fork() the destructors
 * would wait for threads that do not exist. Throws in a child: a lock that was held during fork()
 * would never be released there.
 */
static machine &the()
{
	static machine &one = *new machine;

	TORCH_CHECK(!forked, "cards do not work after fork(): start processes with spawn");
	return one;
}

/* Runs at exit, before the objects that the work uses are destroyed. */
static void drain()
{
	if (forked)
		return;
	for (card &one : the().cards) {
		try {
			one.finish();
		} catch (...) {
			/* no code has used the result, or it would have received the exception */
		}
	}
}

card &card_at(std::int64_t index)
{
	TORCH_CHECK(index >= 0 && index < num_cards, "there is no card ", index, ", only 0 to ",
		    num_cards - 1);
	return the().cards[index];
}

void finish(const at::Tensor &t)
{
	if (t.device().type() == at::kPrivateUse1)
		card_at(t.device().index()).finish();
}

static void check(int error, const std::string &what, const dk_diag &why)
{
	TORCH_CHECK(!error, what, ": ", why.text ? why.text : dk::error_text(error));
}

static dk_diag no_reason()
{
	dk_diag why{};

	why.size = sizeof(why);
	return why;
}

/* ---- the counters -------------------------------------------------------------------- */

/* Add dispatchkey's counts for the functions of device @only or, if it is empty, of all. */
static void add_counts(counts &to, const std::string &only)
{
	dk_stat s{};

	s.size = sizeof(s);
	for (std::size_t i = 0; i < num_operators; i++) {
		const dk::handle op(operators[i].op.name());

		for (unsigned int n = 0; op && !dk_op_stat(op.get(), n, &s); n++)
			if (s.kind == DK_STAT_IMPL && s.count &&
			    (only.empty() || only == s.device_name))
				to[std::string(operators[i].op.name()) + " " +
				   (*s.device_name ? s.device_name : s.provider)] += s.count;
	}
}

counts counted()
{
	std::lock_guard hold(the().lock);
	counts all = the().counts_of_gone;

	add_counts(all, "");
	return all;
}

/* ---- plugging and unplugging --------------------------------------------------------- */

static std::string name_of(std::int64_t index)
{
	return "card" + std::to_string(index);
}

void plug(std::int64_t index)
{
	card &one = card_at(index);
	machine &m = the();
	const std::string name = name_of(index);
	const std::lock_guard hold(m.plugging);
	dk_diag why = no_reason();
	__u32 device;

	check(dk_device_register(&m.provider, m.backend, name.c_str(), &one, m.functions.data(),
				 m.functions.size(), &device, &why), name, why);
	one.device = device;
}

void unplug(std::int64_t index)
{
	card &one = card_at(index);
	machine &m = the();
	const std::lock_guard hold(m.plugging);
	const std::string name = name_of(index);
	dk_diag why = no_reason();

	/* When it returns, nothing that this card serves is running or queued. */
	check(dk_device_set_online(nullptr, one.device, 0, &why), name, why);
	const std::lock_guard counting(m.lock);
	counts now = m.counts_of_gone;
	add_counts(now, name);
	check(dk_device_unregister(&m.provider, one.device, &why), name, why);
	m.counts_of_gone = std::move(now);
}

bool is_plugged(std::int64_t index)
{
	dk_obj unused;

	card_at(index);
	return !dk_device_find(nullptr, name_of(index).c_str(), &unused, nullptr);
}

void begin()
{
	machine &m = the();
	dk_diag why = no_reason();

	pthread_atfork(nullptr, nullptr, [] { forked = true; });
	std::atexit(drain);
	check(dk_provider_register(&m.provider, &why), m.provider.name, why);
	check(dk_backend_join(&m.provider, "card", DK_BACKEND_PRIVATEUSE1, 0, &m.backend, &why),
	      "card", why);
	for (std::size_t i = 0; i < num_operators; i++) {
		routed &one = operators[i];

		check(dk_op_define(&m.provider, one.op.decl(), one.flags, &why), one.op.name(),
		      why);
		m.functions.push_back(one.op.make_impl(DK_DENSE, one.function, { one.label }));
	}
	check(dk_backend_impls_register(&m.provider, m.backend, m.functions.data(),
					m.functions.size(), &why), m.provider.name, why);
	check(dk_stats_enable(nullptr, &why), "counters", why);
	for (std::int64_t i = 0; i < num_cards; i++)
		plug(i);
}
