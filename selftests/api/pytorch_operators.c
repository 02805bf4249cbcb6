// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers all operators of PyTorch, by one provider. registrations.txt has a line for each
 * operator, "NAME KEY=LABEL KEY=LABEL! ...", where ! marks a fallthrough. Every entry of every
 * seventh operator is compared with the rules.
 */
#include "pytorch_operators.h"
#include "test.h"

#if !T_KERNEL
#include <malloc.h>

/* defined by AddressSanitizer and other sanitizers */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
#endif

#define MAX_FUNCTIONS	64	/* of one operator */
#define STEP		7

char *t_big_text;
size_t t_big_size;

struct line {
	struct dk_op_decl decl;
	struct dk_impl *impls;
	unsigned int n;
};

static struct dk_provider prov;
static struct line *lines;
static struct dk_impl *impls;
static unsigned int num_lines, num_impls;

static int anything(struct dk_call *c, struct dk_obj *x, struct dk_obj *y, int *served_by)
{
	*served_by = 1;
	return 0;
}

static size_t heap(void)
{
#if T_KERNEL
	return 0;
#else
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks;
#endif
}

/* Returns the next word of a line, terminated by NUL, or NULL after the last one. */
static char *next_word(char **at)
{
	char *word = *at;

	while (*word == ' ')
		word++;
	if (!*word)
		return NULL;
	for (*at = word; **at && **at != ' '; ++*at)
		;
	if (**at)
		*(*at)++ = 0;
	return word;
}

/* Parses KEY=LABEL or KEY=LABEL! */
static bool read_function(char *word, const struct dk_op_decl *decl,
			  struct dk_impl *impl)
{
	char *label = strchr(word, '=');
	unsigned int key;

	if (!CHECK(label))
		return false;
	*label++ = 0;
	if (!CHECK_OK(dk_key_parse(NULL, word, 0, &key, &t_why)))
		return false;
	impl->op = decl;
	impl->label = label;
	impl->key = key;
	impl->size = sizeof(*impl);
	impl->flags = DK_IMPL_F_BLOCK;
	if (label[strlen(label) - 1] == '!')
		impl->flags |= DK_IMPL_F_FALLTHROUGH;
	else
		impl->fn = (dk_fn_t)(t_function)anything;
	return true;
}

static bool read_line(char *at, struct line *line)
{
	char *word = next_word(&at);

	line->decl = t_decl(word);
	line->impls = impls + num_impls;
	while ((word = next_word(&at))) {
		if (!read_function(word, &line->decl, impls + num_impls))
			return false;
		num_impls++;
		line->n++;
	}
	return CHECK(line->n <= MAX_FUNCTIONS);
}

static bool read_text(void)
{
	char *at = t_big_text, *end;
	size_t i, max_lines = 0, max_impls = 0;

	for (i = 0; i < t_big_size; i++) {
		max_lines += t_big_text[i] == '\n';
		max_impls += t_big_text[i] == '=';
	}
	num_lines = 0;
	num_impls = 0;
	lines = t_alloc((max_lines + 1) * sizeof(*lines));
	impls = t_alloc((max_impls + 1) * sizeof(*impls));
	for (; (end = strchr(at, '\n')); at = end + 1) {
		*end = 0;
		if (*at && !read_line(at, &lines[num_lines++]))
			return false;
	}
	return CHECK(num_lines);
}

static bool register_all(void)
{
	unsigned int i;

	for (i = 0; i < num_lines; i++) {
		if (!CHECK_OK(dk_op_define(&prov, &lines[i].decl, 0, &t_why)) ||
		    !CHECK_OK(dk_impls_register(&prov, lines[i].impls, lines[i].n,
						&t_why))) {
			t_note("%s: %s: %s", lines[i].decl.name, t_why.text,
			       t_why.name);
			return false;
		}
		t_pause();
	}
	return true;
}

static bool right(const struct line *line)
{
	static struct t_given given[MAX_FUNCTIONS];
	struct dk_op *op = dk_op_get(t_reg, line->decl.name);
	const struct dk_layout *l = dk_registry_layout(t_reg);
	unsigned int i;
	bool held = CHECK(op);

	for (i = 0; i < line->n; i++) {
		given[i].key = line->impls[i].key;
		given[i].label = line->impls[i].label;
		given[i].is_fallthrough = line->impls[i].flags & DK_IMPL_F_FALLTHROUGH;
	}
	for (i = 0; held && i < DK_NUM_ENTRIES; i++) {
		unsigned int key = dk_slot_key(l, i);
		struct t_choice want = t_model(l, given, line->n, key);

		held = CHECK_STR(t_serves(op, 0, key), want.label) &&
		       CHECK_INT(t_rule_served(), want.rule);
	}
	if (!held)
		t_note("%s", line->decl.name);
	dk_op_put(op);
	return held;
}

static void all_operators(void)
{
	size_t before, used;
	unsigned int i;

	if (!t_big_text) {
		t_skip("no registrations.txt was given");
		return;
	}
	if (!read_text())
		goto out;
	before = heap();
	t_open("v1", 0);
	t_join(&prov, "pytorch");
	if (register_all()) {
		used = heap() - before;
		t_note("%u operators, %u functions", num_lines, num_impls);
		if (used)
			t_note("%u bytes an operator",
			       (unsigned int)(used / num_lines));
		CHECK_OK(dk_registry_check(t_reg, &t_why));
		for (i = 0; i < num_lines; i += STEP) {
			if (!right(&lines[i]))
				break;
			t_pause();
		}
	}
	t_unregister(&prov);
	for (i = 0; i < num_lines; i++)
		if (!CHECK(!dk_op_get(t_reg, lines[i].decl.name)))
			break;
	t_close();
out:
	t_free(lines);
	t_free(impls);
}

T_SUITE(pytorch_operators, T(all_operators));
