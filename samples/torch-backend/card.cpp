// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "card.hpp"

#include <cerrno>
#include <utility>

void card::submit(const dk_call *c, std::function<void()> work)
{
	std::unique_lock hold(lock_);

	job_done_.wait(hold, [this] { return queue_.size() < depth; });
	job &last = queue_.emplace_back();

	last.work = std::move(work);
	/* cannot fail: the token is new */
	dk_deferred_init(&last.token);
	dk_call_defer(c, &last.token);
	queued_++;
	queue_changed_.notify_one();
}

/* Runs on the card's thread. */
void card::run()
{
	std::unique_lock hold(lock_);

	while (true) {
		queue_changed_.wait(hold, [this] { return !queue_.empty(); });
		job &first = queue_.front();
		hold.unlock();
		std::exception_ptr thrown;
		try {
			first.work();
		} catch (...) {
			thrown = std::current_exception();
		}
		first.work = nullptr;	/* releases the tensors */
		dk_call_complete(&first.token, thrown ? -EIO : 0);
		hold.lock();
		if (!thrown_)
			thrown_ = thrown;
		queue_.pop_front();
		done_++;
		job_done_.notify_all();
	}
}

void card::finish()
{
	std::unique_lock hold(lock_);
	const unsigned long last = queued_;

	job_done_.wait(hold, [&] { return done_ >= last; });
	if (thrown_)
		std::rethrow_exception(std::exchange(thrown_, nullptr));
}
