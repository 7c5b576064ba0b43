package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// constraint is a foreign key or a CHECK constraint, as the schema's files declare it.
type constraint struct {
	table, name string
	meaning     string // comparable with that of the database
	text        string // the declaration, from CONSTRAINT on
}

var (
	foreignKeyDeclaration = regexp.MustCompile(
		`(?m)^\s*(CONSTRAINT (\w+)\s+FOREIGN KEY \(([^)]*)\)\s+REFERENCES ([\w.]+) \(([^)]*)\)( ON DELETE CASCADE)?)`,
	)
	checkDeclaration = regexp.MustCompile(`(?m)^\s*(CONSTRAINT (\w+)\s+CHECK )\(`)
	// checkToken matches a text, a name with or without brackets, or a number of a condition.
	checkToken = regexp.MustCompile(`'(?:[^']|'')*'|\w+`)
)

// checkWords are the words of conditions by which the text of a declaration and that of the server
// may differ: the server writes IN as comparisons with OR, in another order.
var checkWords = []string{"and", "or", "not", "in", "is", "null", "like", "n"}

// constraintsOf returns the foreign keys and CHECK constraints of a file's part about one table.
func constraintsOf(table, part string) []constraint {
	var list []constraint
	for _, m := range foreignKeyDeclaration.FindAllStringSubmatch(part, -1) {
		meaning := fmt.Sprintf("%s > %s %s", columnList(m[3]), strings.ToLower(m[4]), columnList(m[5]))
		if m[6] != "" {
			meaning += " cascade"
		}
		list = append(list, constraint{table: table, name: m[2], meaning: meaning, text: m[1]})
	}
	for _, m := range checkDeclaration.FindAllStringSubmatchIndex(part, -1) {
		condition := inParentheses(part[m[1]-1:])
		list = append(list, constraint{
			table: table, name: part[m[4]:m[5]], meaning: checkMeaning(condition), text: part[m[2]:m[3]] + condition,
		})
	}
	return list
}

// inParentheses returns a text up to the parenthesis that closes its first one.
func inParentheses(text string) string {
	depth, quoted := 0, false
	for i, c := range text {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text
}

// checkMeaning returns the texts, names and numbers of a condition, each once and in order. The
// server stores a condition in other words, but with the same ones of these. So a condition whose
// operators alone were changed is not found.
func checkMeaning(condition string) string {
	var tokens []string
	for _, token := range checkToken.FindAllString(condition, -1) {
		if !strings.HasPrefix(token, "'") {
			token = strings.ToLower(token)
		}
		if !slices.Contains(checkWords, token) {
			tokens = append(tokens, token)
		}
	}
	slices.Sort(tokens)
	return strings.Join(slices.Compact(tokens), " ")
}

// checkConstraints compares the foreign keys and CHECK constraints with those of the schema's
// files, and finds those that the server does not check, or did not check for a while.
func checkConstraints(ctx context.Context, e *examination, want []constraint) ([]Finding, error) {
	rows, err := call.SelectRows[struct {
		Table      string `db:"table_name"`
		Name       string `db:"constraint_name"`
		Disabled   bool   `db:"is_disabled"`
		NotTrusted bool   `db:"is_not_trusted"`
		Definition string `db:"definition"`
	}](ctx, e.conn, Text("constraints"))
	if err != nil {
		return nil, err
	}
	var found []Finding
	const unchecked = "rows without what they belong to, or with values that procedures do not expect, can be stored"
	report := func(table, name, what, why, sql string) {
		found = append(found, Finding{
			Code: CodeIndexes, Severity: SeverityWarning, Found: fmt.Sprintf("constraint %s of %s %s", name, table, what), Why: why, SQL: sql,
		})
	}
	have := map[string]string{}
	for _, r := range rows {
		have[strings.ToLower(r.Table+"."+r.Name)] = r.Definition
		switch {
		case r.Disabled:
			report(r.Table, r.Name, "is disabled", unchecked, fixConstraint(r.Table, r.Name))
		case r.NotTrusted:
			report(r.Table, r.Name, "was off when rows changed",
				"rows that break it may be there, and the server cannot rely on it in plans", fixConstraint(r.Table, r.Name))
		}
	}
	for _, w := range want {
		definition, ok := have[strings.ToLower(w.table+"."+w.name)]
		if strings.HasPrefix(definition, "(") {
			definition = checkMeaning(definition)
		}
		switch {
		case !ok:
			report(w.table, w.name, "is missing", unchecked, addConstraint(w))
		case definition == "": // the login may not see it
		case !strings.EqualFold(definition, w.meaning):
			report(w.table, w.name, "is not as declared", unchecked,
				fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;\n%s", w.table, tsql.Name(w.name), addConstraint(w)))
		}
	}
	return found, nil
}

// addConstraint returns the statement that adds a constraint and checks all rows.
func addConstraint(c constraint) string {
	return fmt.Sprintf("ALTER TABLE %s WITH CHECK ADD %s;", c.table, c.text)
}
