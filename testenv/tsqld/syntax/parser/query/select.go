package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// ChangeTop reads the TOP of a statement that changes rows, which requires parentheses ("TOP
// (Transact-SQL)").
func ChangeTop(c *tokens.Cursor) *syntax.Top {
	if c.At("TOP") && !c.Peek(1).Is("(") {
		c.FailAt(c.Peek(1))
		return nil
	}
	return top(c)
}

// top reads TOP; it returns nil if there is none.
func top(c *tokens.Cursor) *syntax.Top {
	if !c.At("TOP") {
		return nil
	}
	t := &syntax.Top{At: c.Here()}
	c.Next()
	if c.At("(", "SELECT") {
		t.Count = Expr(c)
	} else if c.At("(") {
		t.Paren, t.Count = true, tokens.Parens(c, Expr)
	} else if l := term.Literal(c); l != nil && (l.Kind == syntax.IntLit || l.Kind == syntax.DecimalLit || l.Kind == syntax.FloatLit) {
		t.Count = l
	} else {
		c.Fail()
	}
	t.Percent = c.Accept("PERCENT")
	t.WithTies = c.Accept("WITH", "TIES")
	return t
}

// selectBody reads SELECT up to HAVING and WINDOW.
func selectBody(c *tokens.Cursor) syntax.QueryBody {
	s := &syntax.Select{At: c.Here()}
	c.Expect("SELECT")
	if c.Accept("DISTINCT") {
		s.Distinct = true
	} else {
		c.Accept("ALL")
	}
	s.Top = top(c)
	s.Items = SelectItems(c)
	if c.Accept("INTO") {
		s.Into = term.Name(c)
		if c.Accept("ON") {
			term.Ident(c)
		}
	}
	if c.Accept("FROM") {
		s.From = TableSources(c)
	}
	if c.Accept("WHERE") {
		s.Where = Cond(c)
	}
	if c.At("GROUP") {
		s.GroupBy = groupBy(c)
	}
	if c.Accept("HAVING") {
		s.Having = Cond(c)
	}
	if atWindow(c) {
		c.Next()
		s.Windows = tokens.List(c, func(c *tokens.Cursor) *syntax.WindowDef {
			w := &syntax.WindowDef{At: c.Here(), Name: term.Ident(c)}
			c.Expect("AS")
			w.Over = window(c, c.Here())
			return w
		})
	}
	return s
}

// atWindow reports whether a WINDOW clause comes next. WINDOW is not a reserved word.
func atWindow(c *tokens.Cursor) bool {
	return c.At("WINDOW") && c.Peek(1).IsName() && c.Peek(2).Is("AS") && c.Peek(3).Is("(")
}

// SelectItems reads a select list.
func SelectItems(c *tokens.Cursor) []syntax.SelectItem {
	return tokens.List(c, selectItem)
}

// assignOps are the assignment operators of variables and columns.
var assignOps = map[string]syntax.Op{
	"=": syntax.OpNone, "+=": syntax.OpAdd, "-=": syntax.OpSub, "*=": syntax.OpMul, "/=": syntax.OpDiv, "%=": syntax.OpMod,
	"&=": syntax.OpBitAnd, "|=": syntax.OpBitOr, "^=": syntax.OpBitXor,
}

// AtAssign reports whether t is an assignment operator.
func AtAssign(t *scanner.Token) bool {
	if t.Kind != scanner.Operator {
		return false
	}
	_, ok := assignOps[t.Text]
	return ok
}

// Assign consumes an assignment operator.
func Assign(c *tokens.Cursor) syntax.Op {
	if !AtAssign(c.Current()) {
		c.Fail()
		return syntax.OpNone
	}
	return assignOps[c.Next().Text]
}

// selectItem reads an item of a select list or of OUTPUT.
func selectItem(c *tokens.Cursor) syntax.SelectItem {
	n := c.Here()
	t := c.Current()
	if c.Accept("*") {
		return &syntax.SelectStar{At: n}
	}
	if t.Kind == scanner.Variable && AtAssign(c.Peek(1)) {
		c.Next()
		op := Assign(c)
		return &syntax.SelectAssign{At: n, Var: t.Text, Op: op, X: Expr(c)}
	}
	if (t.IsName() || c.AtText()) && c.Peek(1).Is("=") {
		alias := term.Alias(c)
		c.Expect("=")
		return &syntax.SelectExpr{At: n, Alias: alias, X: Expr(c)}
	}
	if t.IsName() { // t.*, s.t.*
		k := 1
		for c.Peek(k).Is(".") && c.Peek(k+1).IsName() {
			k += 2
		}
		if c.Peek(k).Is(".") && c.Peek(k+1).Is("*") {
			q := term.Parts(c, "column")
			c.Expect(".", "*")
			return &syntax.SelectStar{At: n, Qualifier: q}
		}
	}
	item := &syntax.SelectExpr{At: n, X: Expr(c)}
	if c.Accept("AS") || (c.Current().IsName() || c.AtText()) && !atWindow(c) && !AtLabel(c) {
		item.Alias = term.Alias(c)
	}
	return item
}

// groupBy reads GROUP BY.
func groupBy(c *tokens.Cursor) *syntax.GroupBy {
	g := &syntax.GroupBy{At: c.Here()}
	c.Expect("GROUP", "BY")
	g.All = c.Accept("ALL")
	g.Items = tokens.List(c, func(c *tokens.Cursor) *syntax.GroupItem { return groupItem(c, false) })
	if c.At("WITH") && (c.Peek(1).Is("ROLLUP") || c.Peek(1).Is("CUBE")) {
		c.Next()
		kind := syntax.GroupRollup
		if c.Next().Upper == "CUBE" {
			kind = syntax.GroupCube
		}
		g.Items = []*syntax.GroupItem{{At: g.At, Kind: kind, Sub: g.Items}}
	}
	return g
}

// groupItem reads an element of GROUP BY. inside allows lists in parentheses, as in ROLLUP and
// CUBE.
func groupItem(c *tokens.Cursor, inside bool) *syntax.GroupItem {
	g := &syntax.GroupItem{At: c.Here()}
	if !c.Enter() {
		return g
	}
	defer c.Leave()
	switch {
	case c.Accept("ROLLUP", "("):
		g.Kind = syntax.GroupRollup
	case c.Accept("CUBE", "("):
		g.Kind = syntax.GroupCube
	case c.Accept("GROUPING", "SETS", "("):
		g.Kind = syntax.GroupSets
	case c.At("(", ")"), inside && c.At("(") && listFollows(c):
		c.Next()
		g.Kind = syntax.GroupList
		if c.Accept(")") {
			return g
		}
	default:
		g.X = Expr(c)
		return g
	}
	g.Sub = tokens.List(c, func(c *tokens.Cursor) *syntax.GroupItem { return groupItem(c, g.Kind != syntax.GroupList) })
	c.Expect(")")
	return g
}

// listFollows reports whether the current parenthesis encloses a list or a whole element, rather
// than starting an expression such as (a + b) * c.
func listFollows(c *tokens.Cursor) bool {
	t := c.Peek(c.Matching(0))
	return t.Is(",") || t.Is(")")
}

// AtLabel reports whether a label comes next: a name directly followed by a colon.
func AtLabel(c *tokens.Cursor) bool {
	t, n := c.Current(), c.Peek(1)
	return t.IsName() && n.Is(":") && n.At.Offset == t.End
}
