/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares a simulated accelerator card. A card shares the host's memory, and processes a queue on
 * its own thread. It is never destroyed, because the thread does not end.
 */
#ifndef CARD_HPP
#define CARD_HPP

#include <dispatchkey.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

class card {
public:
	/*
	 * Queue @work and return; waits while the queue is full. The call @c is deferred until
	 * the work is done, so that unregistering the card's functions waits for the work.
	 */
	void submit(const dk_call *c, std::function<void()> work);
	/* Wait until all work queued so far is done. Rethrows an exception that the work threw. */
	void finish();

	/*
	 * The number of the device in dispatchkey's registry: 0 until the card is first plugged
	 * in. After the card was unplugged, the device of this number is no longer registered.
	 */
	std::atomic<__u32> device{ 0 };

private:
	static constexpr std::size_t depth = 256;

	struct job {
		dk_deferred token;
		std::function<void()> work;
	};

	void run();

	std::mutex lock_;
	std::condition_variable queue_changed_, job_done_;
	std::deque<job> queue_;		/* a deque, because its elements do not move */
	unsigned long queued_ = 0, done_ = 0;
	std::exception_ptr thrown_;	/* the exception of the first work that failed */
	std::thread thread_{ [this] { run(); } };
};

#endif /* CARD_HPP */
