// Package tsql writes T-SQL that people run with clients of their own: calls of procedures,
// literals, comments.
//
// Common mistakes: taking a text in quotes for safe. sqlcmd replaces $(name) even in a string, and
// many clients divide a script at every line that begins with GO, even inside a string; see
// [Call.LongText] and [Comment].
package tsql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Literal returns s as a Unicode string literal.
func Literal(s string) string { return "N'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Name returns a name of one or more parts, such as schema and table, each in brackets.
func Name(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = "[" + strings.ReplaceAll(part, "]", "]]") + "]"
	}
	return strings.Join(quoted, ".")
}

// Comment returns text as comments of one line each, each after prefix. No part of text ends a
// comment or is replaced by a client.
func Comment(prefix, text string) string {
	var b strings.Builder
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == 0 }) {
		b.WriteString("-- " + prefix + strings.ReplaceAll(line, "$(", "$ (") + "\n")
	}
	return b.String()
}

// clientActs matches what clients act upon before the server sees a script. The groups end where
// the text must be cut to prevent it.
var clientActs = regexp.MustCompile(`(?im)^([ \t]*g)o\b|(\$)\(`)

// clientProof cuts a text so that no piece, written as a literal, holds anything that a client acts
// upon. There is one piece at least.
func clientProof(text string) []string {
	var pieces []string
	from := 0
	for _, m := range clientActs.FindAllStringSubmatchIndex(text, -1) {
		cut := max(m[3], m[5]) // the end of the group that matched; the other's is -1
		pieces, from = append(pieces, text[from:cut]), cut
	}
	return append(pieces, text[from:])
}

// Expression returns a text of any length and content as a literal, or as a sum of literals where
// one would hold what clients act upon.
func Expression(value string) string {
	pieces := clientProof(value)
	if len(pieces) == 1 {
		return Literal(value)
	}
	// The empty MAX value makes the whole sum one of that type: others end at 4000 characters.
	sum := "CAST(N'' AS NVARCHAR(MAX))"
	for _, piece := range pieces {
		sum += "\n    + " + Literal(piece)
	}
	return sum
}

// Call writes the call of a procedure with named parameters, one a line.
type Call struct {
	name   string
	before string
	args   []string
}

// NewCall begins the call of a procedure.
func NewCall(name string) *Call { return &Call{name: name} }

// Raw appends a parameter with a value that is T-SQL already.
func (c *Call) Raw(name, value string) *Call {
	c.args = append(c.args, "    @"+name+" = "+value)
	return c
}

// Text appends a string.
func (c *Call) Text(name, value string) *Call { return c.Raw(name, Literal(value)) }

// Optional appends a string unless it is empty.
func (c *Call) Optional(name, value string) *Call {
	if value == "" {
		return c
	}
	return c.Text(name, value)
}

// Number appends an integer.
func (c *Call) Number(name string, n int) *Call { return c.Raw(name, strconv.Itoa(n)) }

// Bit appends a truth value.
func (c *Call) Bit(name string, v bool) *Call {
	if v {
		return c.Number(name, 1)
	}
	return c.Number(name, 0)
}

// LongText appends a string of any length and content. A string that holds what clients act upon is
// first put together in a variable, whose name must be unique in the batch.
func (c *Call) LongText(name, variable, value string) *Call {
	text := Expression(value)
	if strings.HasPrefix(text, "N'") {
		return c.Text(name, value)
	}
	c.before += fmt.Sprintf("DECLARE @%s NVARCHAR(MAX) = %s;\n", variable, text)
	return c.Raw(name, "@"+variable)
}

// String returns the call, after the declarations that it needs.
func (c *Call) String() string {
	return c.before + "EXEC " + c.name + "\n" + strings.Join(c.args, ",\n") + ";"
}
