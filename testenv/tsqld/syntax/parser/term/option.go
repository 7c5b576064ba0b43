package term

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// style is the way in which the words of an option are read.
type style struct {
	joined bool            // several words form one name (HASH JOIN); otherwise words after the first are its value (RECOVERY SIMPLE)
	words  map[string]bool // the reserved words that may be part of an option, beside optionWords
}

// The styles. Words that start statements are allowed in query hints only, where parentheses
// separate them from the next statement.
var (
	plain       = style{}
	hint        = style{joined: true, words: scanner.WordSet(`USE MERGE JOIN GROUP ORDER UNION TABLE`)}
	optionWords = scanner.WordSet(`ON OFF DEFAULT NULL ALL FOR READ CURSOR FILLFACTOR PLAN PRIMARY KEY PERCENT STATISTICS
		FULL HOLDLOCK EXTERNAL USER REPLICATION CHECK INDEX`)
)

// Option reads one option.
func Option(c *tokens.Cursor) *syntax.Option { return plain.option(c) }

// OptionList reads options separated by commas.
func OptionList(c *tokens.Cursor) []*syntax.Option { return tokens.List(c, Option) }

// Options reads options in parentheses.
func Options(c *tokens.Cursor) []*syntax.Option { return tokens.ParenList(c, Option) }

// WithOptions reads WITH (options); it returns nil if WITH and a parenthesis do not come next.
func WithOptions(c *tokens.Cursor) []*syntax.Option {
	if !c.At("WITH", "(") {
		return nil
	}
	c.Next()
	return Options(c)
}

// WithOptionList reads WITH options; it returns nil if there is no WITH.
func WithOptionList(c *tokens.Cursor) []*syntax.Option {
	if !c.Accept("WITH") {
		return nil
	}
	return OptionList(c)
}

// QueryHints reads OPTION (hints); it returns nil if there is no OPTION.
func QueryHints(c *tokens.Cursor) []*syntax.Option {
	if !c.Accept("OPTION") {
		return nil
	}
	return tokens.ParenList(c, hint.option)
}

// Words reads words and returns them in capitals, joined by blanks.
func Words(c *tokens.Cursor) string { return plain.read(c) }

// at reports whether the current token is a word that options consist of.
func (s style) at(c *tokens.Cursor) bool {
	t := c.Current()
	return t.Kind == scanner.Word && (!t.IsReserved() || optionWords[t.Upper] || s.words[t.Upper])
}

// read reads words and returns them in capitals, joined by blanks.
func (s style) read(c *tokens.Cursor) string {
	text := ""
	for s.at(c) {
		if text != "" {
			text += " "
		}
		text += c.Next().Upper
	}
	return text
}

// option reads one option.
func (s style) option(c *tokens.Cursor) *syntax.Option {
	o := &syntax.Option{At: c.Here()}
	if !c.Enter() {
		return o
	}
	defer c.Leave()
	switch {
	case c.AtKind(scanner.Variable):
		o.Name = Variable(c)
		if s.at(c) {
			o.Value = s.value(c)
			return o
		}
	case s.at(c) && s.joined:
		o.Name = s.read(c)
	case s.at(c):
		o.Name = c.Next().Upper
	}
	o.Equals = o.Name != "" && c.Accept("=")
	if o.Equals || o.Name == "" || AtLiteral(c) || c.AtKind(scanner.Variable, scanner.Quoted) || c.At("-") || s.at(c) {
		o.Value = s.value(c)
	}
	if c.At("(") {
		o.Sub = tokens.ParenList(c, s.option)
	}
	return o
}

// value reads a constant with an optional sign, a variable, a quoted name, or words. A constant
// followed by words (60 SECONDS) becomes one keyword.
func (s style) value(c *tokens.Cursor) syntax.Expr {
	at := c.Here()
	switch {
	case c.Accept("-"):
		return &syntax.UnaryExpr{At: at, Op: syntax.OpMinus, X: Constant(c)}
	case c.AtKind(scanner.Variable):
		return VarRef(c)
	case c.AtKind(scanner.Quoted), s.at(c) && c.Peek(1).Is("."): // INDEX(dbo.t), TABLE HINT(dbo.t, ...)
		return &syntax.ColumnRef{At: at, Parts: Parts(c, "object")}
	case !s.joined && c.Accept("TABLE"): // LOCK_ESCALATION = TABLE
		return &syntax.Keyword{At: at, Name: "TABLE"}
	case s.at(c):
		return &syntax.Keyword{At: at, Name: s.read(c)}
	}
	l := Constant(c)
	if l.Kind == syntax.IntLit && s.at(c) {
		return &syntax.Keyword{At: at, Name: l.Text + " " + s.read(c)}
	}
	return l
}
