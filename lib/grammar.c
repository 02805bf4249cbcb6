// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks schemas for the core, with the grammar of lib/schema. */
#include "schema/schema.h"

int dkc_schema_check(const char *schema, struct dk_diag *why)
{
	struct dk_schema *s;
	int err = dk_schema_parse(schema, &s, why);

	dk_schema_free(s);
	return err;
}

int dkc_op_name_check(const char *text, const char *name, struct dk_diag *why)
{
	struct dk_schema *s;
	int err = dkc_schema_parse(text, name, true, &s, why);

	dk_schema_free(s);
	return err;
}

/*
 * Parses the schema of a definition. Its namespace may be the name of a library, such as "a-b",
 * which the grammar does not accept.
 */
static int parse_definition(const char *text, struct dk_schema **s, struct dk_diag *why)
{
	const char *from;

	for (from = text; *from && *from != '('; from++)
		if (from[0] == ':' && from[1] == ':')
			return dkc_schema_parse(text, from + 2, false, s, why);
	return dk_schema_parse(text, s, why);
}

int dkc_schema_check_decl(const struct dk_op_decl *decl, struct dk_diag *why)
{
	struct dk_schema *s;
	int err;

	if (decl->alias_analysis > DK_ALIAS_INTERNAL_SPECIAL_CASE)
		return dkc_refuse_number(why, DK_WHY_BAD_ALIAS_ANALYSIS, decl->alias_analysis);
	err = parse_definition(decl->schema, &s, why);
	if (!err)
		err = dkc_schema_matches(s, decl, why);
	dk_schema_free(s);
	return err;
}

int dkc_schema_compare(const char *declared, const char *inferred,
		       struct dk_diag *why)
{
	struct dk_schema *a, *b = NULL;
	int err = parse_definition(declared, &a, why);

	if (!err)
		err = dk_schema_parse(inferred, &b, why);
	if (!err)
		err = dk_schema_compare(a, b, why);
	dk_schema_free(a);
	dk_schema_free(b);
	return err;
}
