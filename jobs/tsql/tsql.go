// Package tsql writes T-SQL that people run with their own clients: procedure calls, literals and
// comments.
//
// Common mistakes: assuming that a quoted text is safe. sqlcmd replaces $(name) even in a string,
// many clients split a script at every line that begins with GO, even inside a string, and lines
// that begin with a colon or !! may be commands of sqlcmd. See
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

// Comment returns each line of text as a comment that begins with prefix. No part of text can end a
// comment or be replaced by a client.
func Comment(prefix, text string) string {
	var b strings.Builder
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == 0 }) {
		b.WriteString("-- " + prefix + strings.ReplaceAll(line, "$(", "$ (") + "\n")
	}
	return b.String()
}

// clientActs matches text that clients process before the server receives a script: GO at the start
// of a line, $(, and the commands of sqlcmd, which begin a line with a colon, or without one: !!
// runs a program. Each group ends where the text must be cut to prevent that.
// Source: https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-utility, "sqlcmd commands".
var clientActs = regexp.MustCompile(`(?im)((?:^|\r)[ \t]*g)o\b|(\$)\(|([\r\n][ \t]*)(?::|!!|(?:exit|quit|reset|ed)\b)`)

// clientProof cuts a text into one or more pieces. As literals, the pieces contain nothing that a
// client processes.
func clientProof(text string) []string {
	var pieces []string
	from := 0
	for _, m := range clientActs.FindAllStringSubmatchIndex(text, -1) {
		cut := max(m[3], m[5], m[7]) // the end of the group that matched; the ends of the others are -1
		pieces, from = append(pieces, text[from:cut]), cut
	}
	return append(pieces, text[from:])
}

// Expression returns a text of any length and content as a literal. If a client would process a
// part of that literal, Expression returns a concatenation of literals instead.
func Expression(value string) string {
	pieces := clientProof(value)
	if len(pieces) == 1 {
		return Literal(value)
	}
	// The empty MAX value gives the whole concatenation the type NVARCHAR(MAX). Otherwise SQL
	// Server truncates it at 4000 characters.
	sum := "CAST(N'' AS NVARCHAR(MAX))"
	for _, piece := range pieces {
		sum += "\n    + " + Literal(piece)
	}
	return sum
}

// Call builds a procedure call with named parameters, one per line.
type Call struct {
	name   string
	before string
	args   []string
}

// NewCall returns a call of a procedure without parameters.
func NewCall(name string) *Call { return &Call{name: name} }

// Raw appends a parameter whose value is a T-SQL expression.
func (c *Call) Raw(name, value string) *Call {
	c.args = append(c.args, "    @"+name+" = "+value)
	return c
}

// Text appends a string parameter.
func (c *Call) Text(name, value string) *Call { return c.Raw(name, Literal(value)) }

// Optional appends a string parameter unless value is empty.
func (c *Call) Optional(name, value string) *Call {
	if value == "" {
		return c
	}
	return c.Text(name, value)
}

// Number appends an integer parameter.
func (c *Call) Number(name string, n int) *Call { return c.Raw(name, strconv.Itoa(n)) }

// Bit appends a bit parameter.
func (c *Call) Bit(name string, v bool) *Call {
	if v {
		return c.Number(name, 1)
	}
	return c.Number(name, 0)
}

// LongText appends a string parameter of any length and content. A string that a client would
// process is first assigned to a variable. The name of the variable must be unique in the batch.
func (c *Call) LongText(name, variable, value string) *Call {
	text := Expression(value)
	if strings.HasPrefix(text, "N'") {
		return c.Text(name, value)
	}
	c.before += fmt.Sprintf("DECLARE @%s NVARCHAR(MAX) = %s;\n", variable, text)
	return c.Raw(name, "@"+variable)
}

// String returns the call, preceded by the variable declarations that it needs.
func (c *Call) String() string {
	return c.before + "EXEC " + c.name + "\n" + strings.Join(c.args, ",\n") + ";"
}
