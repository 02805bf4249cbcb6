/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares PyTorch's operators as dispatchkey operators. Each plugged-in card serves its own
 * tensors; the host serves tensors of unplugged cards.
 */
#ifndef FUNCTIONS_HPP
#define FUNCTIONS_HPP

#include <torch/csrc/api/include/torch/version.h>
#if TORCH_VERSION_MAJOR != 1 || TORCH_VERSION_MINOR != 13
#error This backend is for PyTorch 1.13 (libtorch-dev of Debian 12); another version is installed.
#endif

#include "card.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <initializer_list>
#include <map>
#include <string>

constexpr int num_cards = 2;

/* PyTorch's arguments; the function replaces them with its results. */
struct arguments {
	torch::jit::Stack &stack;
	std::size_t n;

	const c10::IValue &operator[](std::size_t i) const
	{
		return torch::jit::peek(stack, i, n);
	}
	int result(at::Tensor value)
	{
		torch::jit::drop(stack, n);
		torch::jit::push(stack, std::move(value));
		return 0;
	}
};

/* An operator is routed by its first three tensors; absent ones are NULL. */
using op_type = dk::op<int(const dk_obj *, const dk_obj *, const dk_obj *, arguments &),
		       dk::on<0, 1, 2>>;

struct routed {
	op_type op;
	op_type::function function;
	const char *label;
	unsigned int flags;
};
extern routed operators[];
extern const std::size_t num_operators;

/* The card at an index; throws a c10::Error if there is none. */
card &card_at(std::int64_t index);
/* Wait until the queue of the tensor's card is empty, if the tensor is on a card. */
void finish(const at::Tensor &t);

/* Checks what DK_OP_SAME_DEVICE checks, but also for tensors of cards that are unplugged. */
void check_one_card(std::initializer_list<at::Tensor> tensors);
/* Calls the CPU's function, for an operator or arguments that cards do not support. */
void compute_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack);
/* Enlarge memory of a card to at least @bytes. Memory that is smaller is moved. */
void enlarge(const c10::Storage &memory, std::size_t bytes);

/* Define the operators, register the host's functions and plug in all cards. */
void begin();
void plug(std::int64_t index);
void unplug(std::int64_t index);
bool is_plugged(std::int64_t index);

/* The number of calls of each function, by operator and server, such as "aten::mm card0". */
using counts = std::map<std::string, std::int64_t>;
counts counted();

#endif /* FUNCTIONS_HPP */
