package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// cond reads a condition.
func (p *parser) cond() syntax.Cond { return p.toCond(p.or()) }

// toCond converts the result of or to a condition. Error 4145 for a value.
func (p *parser) toCond(n syntax.Node) syntax.Cond {
	c, ok := n.(syntax.Cond)
	if !ok {
		t := p.current()
		if t.Kind == scanner.EOF {
			t = p.previous()
		}
		p.errorAt(t, mserr.NonBoolean(tokenText(t)))
	}
	return c
}

// or reads a condition, or a value where the caller accepts both (inside parentheses).
func (p *parser) or() syntax.Node {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.beginChain()
	defer p.endChain(before)
	x := p.and()
	for p.at("OR") {
		p.addOperator()
		left := p.toCond(x)
		p.next()
		x = &syntax.LogicCond{At: atNode(left), Op: syntax.OpOr, X: left, Y: p.toCond(p.and())}
	}
	return x
}

// and reads an operand of OR.
func (p *parser) and() syntax.Node {
	before := p.beginChain()
	defer p.endChain(before)
	x := p.not()
	for p.at("AND") {
		p.addOperator()
		left := p.toCond(x)
		p.next()
		x = &syntax.LogicCond{At: atNode(left), Op: syntax.OpAnd, X: left, Y: p.toCond(p.not())}
	}
	return x
}

// atNode returns the position of n for a node that begins with n; n may be nil after an error.
func atNode(n syntax.Node) syntax.At {
	if n == nil {
		return syntax.At{}
	}
	return syntax.AtPos(n.Pos())
}

// not reads an operand of AND.
func (p *parser) not() syntax.Node {
	if p.at("NOT") {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		c := p.here()
		p.next()
		return &syntax.NotCond{At: c, X: p.toCond(p.not())}
	}
	return p.predicate()
}

// compareOps are the comparison operators. The method comparison reads those that contain blanks.
var compareOps = map[string]syntax.Op{
	"=": syntax.OpEQ, "<>": syntax.OpNE, "!=": syntax.OpNE, "<": syntax.OpLT, "<=": syntax.OpLE, "!>": syntax.OpLE, ">": syntax.OpGT, ">=": syntax.OpGE, "!<": syntax.OpGE,
}

// comparison consumes a comparison operator; it returns OpNone if there is none. "> =" is ">=", as
// in SQL Server.
func (p *parser) comparison() syntax.Op {
	t := p.current()
	if t.Kind != scanner.Operator {
		return syntax.OpNone
	}
	for _, pair := range [...]struct {
		a, b string
		op   syntax.Op
	}{{"<", "=", syntax.OpLE}, {">", "=", syntax.OpGE}, {"<", ">", syntax.OpNE}, {"!", "=", syntax.OpNE}, {"!", "<", syntax.OpGE}, {"!", ">", syntax.OpLE}} {
		if p.accept(pair.a, pair.b) {
			return pair.op
		}
	}
	op := compareOps[t.Text]
	if op != syntax.OpNone {
		p.next()
	}
	return op
}

// predicate reads a comparison or another predicate, or a value.
func (p *parser) predicate() syntax.Node {
	c := p.here()
	switch {
	case p.at("EXISTS"):
		p.next()
		return &syntax.ExistsCond{At: c, Query: p.parenQuery()}
	case p.accept("UPDATE", "("):
		id := p.ident()
		p.expect(")")
		return &syntax.UpdatedCond{At: c, Column: id}
	case p.at("CONTAINS"), p.at("FREETEXT"):
		return p.fullTextPredicate(c)
	}
	n := p.additive(true)
	x, ok := n.(syntax.Expr)
	if !ok {
		return n
	}
	return p.predicateOn(c, x)
}

// predicateOn reads the operator and the other operands of a predicate on x; it returns x if there
// is no operator.
func (p *parser) predicateOn(c syntax.At, x syntax.Expr) syntax.Node {
	if op := p.comparison(); op != syntax.OpNone {
		all := p.at("ALL")
		if all || p.atAny("ANY", "SOME") {
			p.next()
			return &syntax.QuantifiedCond{At: c, Op: op, X: x, All: all, Query: p.parenQuery()}
		}
		return &syntax.CompareCond{At: c, Op: op, X: x, Y: p.expr()}
	}
	if p.accept("IS") {
		not := p.accept("NOT")
		if p.accept("DISTINCT", "FROM") {
			return &syntax.DistinctCond{At: c, Not: not, X: x, Y: p.expr()}
		}
		p.expect("NULL")
		return &syntax.IsNullCond{At: c, Not: not, X: x}
	}
	not := false
	if p.at("NOT") && (p.peek(1).Is("LIKE") || p.peek(1).Is("BETWEEN") || p.peek(1).Is("IN")) {
		p.next()
		not = true
	}
	switch {
	case p.accept("LIKE"):
		l := &syntax.LikeCond{At: c, Not: not, X: x, Pattern: p.expr()}
		if p.accept("ESCAPE") {
			l.Escape = p.expr()
		} else if p.accept("{", "ESCAPE") {
			l.Escape = p.expr()
			p.expect("}")
		}
		return l
	case p.accept("BETWEEN"):
		b := &syntax.BetweenCond{At: c, Not: not, X: x, Low: p.expr()}
		p.expect("AND")
		b.High = p.expr()
		return b
	case p.accept("IN"):
		in := &syntax.InCond{At: c, Not: not, X: x}
		if p.at("(", "SELECT") || p.at("(", "WITH") {
			in.Query = p.parenQuery()
			return in
		}
		p.expect("(")
		in.List = p.exprList()
		p.expect(")")
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
