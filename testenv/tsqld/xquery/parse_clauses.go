package xquery

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// binding is a clause of for, let, some or every: $v in x, $v := x.
type binding struct {
	name  string
	isLet bool
	x     expr
	slot  int
}

// orderKey is an item of order by.
type orderKey struct {
	x         expr
	isNumeric bool
	desc      bool
}

// bind reads one binding behind for, let, some or every.
func (p *parser) bind(isLet, isQuantified bool) *binding {
	p.expect("$")
	b := &binding{name: p.ncName(), isLet: isLet}
	for _, word := range []string{"at", "as"} {
		if p.atWord(word) {
			p.fail(mserr.XQueryUnsupported, word)
		}
	}
	symbol := "in"
	if isLet {
		symbol = ":="
	}
	if !p.acceptWords(symbol) && p.err == nil {
		if isQuantified {
			p.fail(mserr.XQueryNear, p.near(), symbol)
		} else {
			p.fail(mserr.XQueryExpected, symbol)
		}
	}
	b.x = p.single()
	return b
}

// flwor reads for, let, where, order by and return.
func (p *parser) flwor() expr {
	f := &flworExpr{}
	for p.err == nil {
		isLet := p.atWords("let", "$")
		if !isLet && !p.atWords("for", "$") {
			break
		}
		p.ncName()
		f.bindings = append(f.bindings, p.bind(isLet, false))
		for p.accept(",") {
			f.bindings = append(f.bindings, p.bind(isLet, false))
		}
	}
	if p.acceptWord("where") {
		f.where = p.single()
	}
	if p.acceptWords("stable", "order", "by") || p.acceptWords("order", "by") {
		f.order = append(f.order, p.orderKey())
		for p.accept(",") {
			f.order = append(f.order, p.orderKey())
		}
	}
	if !p.acceptWord("return") && p.err == nil {
		if f.where == nil && f.order == nil {
			p.fail(mserr.XQueryClause, p.near())
		} else {
			p.fail(mserr.XQueryNear, p.near(), "return")
		}
	}
	f.result = p.single()
	return f
}

// orderKey reads an item of order by.
func (p *parser) orderKey() *orderKey {
	k := &orderKey{x: p.single()}
	if p.acceptWord("descending") {
		k.desc = true
	} else {
		p.acceptWord("ascending")
	}
	if p.atWord("empty") {
		p.fail(mserr.XQueryUnsupported, "empty")
	}
	if p.atWord("collation") {
		p.fail(mserr.XQueryUnsupported, "collation")
	}
	return k
}

// quantified reads some and every.
func (p *parser) quantified() expr {
	q := &quantifiedExpr{every: p.ncName() == "every"}
	q.bindings = append(q.bindings, p.bind(false, true))
	for p.accept(",") {
		q.bindings = append(q.bindings, p.bind(false, true))
	}
	p.expectWord("satisfies")
	q.test = p.single()
	return q
}

// conditional reads if.
func (p *parser) conditional() expr {
	p.acceptWord("if")
	p.expect("(")
	c := &ifExpr{cond: p.expr()}
	p.expect(")")
	p.expectWord("then")
	c.then = p.single()
	p.expectWord("else")
	c.otherwise = p.single()
	return c
}
