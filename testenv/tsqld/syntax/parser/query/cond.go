package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Cond reads a condition.
func Cond(c *tokens.Cursor) syntax.Cond { return toCond(c, or(c)) }

// toCond converts the result of or to a condition. Error 4145 for a value.
func toCond(c *tokens.Cursor, n syntax.Node) syntax.Cond {
	cond, ok := n.(syntax.Cond)
	if !ok {
		t := c.Current()
		if t.Kind == scanner.EOF {
			t = c.Previous()
		}
		c.ErrorAt(t, mserr.NonBoolean(tokens.Text(t)))
	}
	return cond
}

// or reads a condition, or a value where the caller accepts both (inside parentheses).
func or(c *tokens.Cursor) syntax.Node {
	if !c.Enter() {
		return nil
	}
	defer c.Leave()
	defer c.EndChain(c.BeginChain())
	x := and(c)
	for c.At("OR") {
		c.AddOperator()
		left := toCond(c, x)
		c.Next()
		x = &syntax.LogicCond{At: atNode(left), Op: syntax.OpOr, X: left, Y: toCond(c, and(c))}
	}
	return x
}

// and reads an operand of OR.
func and(c *tokens.Cursor) syntax.Node {
	defer c.EndChain(c.BeginChain())
	x := not(c)
	for c.At("AND") {
		c.AddOperator()
		left := toCond(c, x)
		c.Next()
		x = &syntax.LogicCond{At: atNode(left), Op: syntax.OpAnd, X: left, Y: toCond(c, not(c))}
	}
	return x
}

// not reads an operand of AND.
func not(c *tokens.Cursor) syntax.Node {
	if c.At("NOT") {
		if !c.Enter() {
			return nil
		}
		defer c.Leave()
		at := c.Here()
		c.Next()
		return &syntax.NotCond{At: at, X: toCond(c, not(c))}
	}
	return predicate(c)
}

// compareOps are the comparison operators. The method comparison reads those that contain blanks.
var compareOps = map[string]syntax.Op{
	"=": syntax.OpEQ, "<>": syntax.OpNE, "!=": syntax.OpNE, "<": syntax.OpLT, "<=": syntax.OpLE, "!>": syntax.OpLE, ">": syntax.OpGT, ">=": syntax.OpGE, "!<": syntax.OpGE,
}

// comparison consumes a comparison operator; it returns OpNone if there is none. "> =" is ">=", as
// in SQL Server.
func comparison(c *tokens.Cursor) syntax.Op {
	t := c.Current()
	if t.Kind != scanner.Operator {
		return syntax.OpNone
	}
	for _, pair := range [...]struct {
		a, b string
		op   syntax.Op
	}{{"<", "=", syntax.OpLE}, {">", "=", syntax.OpGE}, {"<", ">", syntax.OpNE}, {"!", "=", syntax.OpNE}, {"!", "<", syntax.OpGE}, {"!", ">", syntax.OpLE}} {
		if c.Accept(pair.a, pair.b) {
			return pair.op
		}
	}
	op := compareOps[t.Text]
	if op != syntax.OpNone {
		c.Next()
	}
	return op
}

// predicate reads a comparison or another predicate, or a value.
func predicate(c *tokens.Cursor) syntax.Node {
	at := c.Here()
	switch {
	case c.At("EXISTS"):
		c.Next()
		return &syntax.ExistsCond{At: at, Query: ParenQuery(c)}
	case c.Accept("UPDATE", "("):
		id := term.Ident(c)
		c.Expect(")")
		return &syntax.UpdatedCond{At: at, Column: id}
	case c.At("CONTAINS"), c.At("FREETEXT"):
		return fullTextPredicate(c, at)
	}
	n := additive(c, true)
	x, ok := n.(syntax.Expr)
	if !ok {
		return n
	}
	return predicateOn(c, at, x)
}

// predicateOn reads the operator and the other operands of a predicate on x; it returns x if there
// is no operator.
func predicateOn(c *tokens.Cursor, at syntax.At, x syntax.Expr) syntax.Node {
	if op := comparison(c); op != syntax.OpNone {
		all := c.At("ALL")
		if all || c.AtAny("ANY", "SOME") {
			c.Next()
			return &syntax.QuantifiedCond{At: at, Op: op, X: x, All: all, Query: ParenQuery(c)}
		}
		return &syntax.CompareCond{At: at, Op: op, X: x, Y: Expr(c)}
	}
	if c.Accept("IS") {
		not := c.Accept("NOT")
		if c.Accept("DISTINCT", "FROM") {
			return &syntax.DistinctCond{At: at, Not: not, X: x, Y: Expr(c)}
		}
		c.Expect("NULL")
		return &syntax.IsNullCond{At: at, Not: not, X: x}
	}
	not := false
	if c.At("NOT") && (c.Peek(1).Is("LIKE") || c.Peek(1).Is("BETWEEN") || c.Peek(1).Is("IN")) {
		c.Next()
		not = true
	}
	switch {
	case c.Accept("LIKE"):
		l := &syntax.LikeCond{At: at, Not: not, X: x, Pattern: Expr(c)}
		if c.Accept("ESCAPE") {
			l.Escape = Expr(c)
		} else if c.Accept("{", "ESCAPE") {
			l.Escape = Expr(c)
			c.Expect("}")
		}
		return l
	case c.Accept("BETWEEN"):
		b := &syntax.BetweenCond{At: at, Not: not, X: x, Low: Expr(c)}
		c.Expect("AND")
		b.High = Expr(c)
		return b
	case c.Accept("IN"):
		in := &syntax.InCond{At: at, Not: not, X: x}
		if c.At("(", "SELECT") || c.At("(", "WITH") {
			in.Query = ParenQuery(c)
			return in
		}
		c.Expect("(")
		in.List = Exprs(c)
		c.Expect(")")
		if len(in.List) == 1 { // IN ((SELECT ...)) is a subquery
			x := in.List[0]
			for {
				inner, ok := x.(*syntax.ParenExpr)
				if !ok {
					break
				}
				x = inner.X
			}
			if sub, ok := x.(*syntax.SubqueryExpr); ok {
				in.Query, in.List = sub.Query, nil
			}
		}
		return in
	}
	return x
}
