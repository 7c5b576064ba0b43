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
func bind(p *cursor, isLet, isQuantified bool) *binding {
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
	b.x = single(p)
	return b
}

// flwor reads for, let, where, order by and return.
func flwor(p *cursor) expr {
	f := &flworExpr{}
	for p.err == nil {
		isLet := p.atWords("let", "$")
		if !isLet && !p.atWords("for", "$") {
			break
		}
		p.ncName()
		f.bindings = append(f.bindings, bind(p, isLet, false))
		for p.accept(",") {
			f.bindings = append(f.bindings, bind(p, isLet, false))
		}
	}
	if p.acceptWord("where") {
		f.where = single(p)
	}
	if p.acceptWords("stable", "order", "by") || p.acceptWords("order", "by") {
		f.order = append(f.order, orderItem(p))
		for p.accept(",") {
			f.order = append(f.order, orderItem(p))
		}
	}
	if !p.acceptWord("return") && p.err == nil {
		if f.where == nil && f.order == nil {
			p.fail(mserr.XQueryClause, p.near())
		} else {
			p.fail(mserr.XQueryNear, p.near(), "return")
		}
	}
	f.result = single(p)
	return f
}

// orderItem reads an item of order by.
func orderItem(p *cursor) *orderKey {
	k := &orderKey{x: single(p)}
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
func quantified(p *cursor) expr {
	q := &quantifiedExpr{every: p.ncName() == "every"}
	q.bindings = append(q.bindings, bind(p, false, true))
	for p.accept(",") {
		q.bindings = append(q.bindings, bind(p, false, true))
	}
	p.expectWord("satisfies")
	q.test = single(p)
	return q
}

// conditional reads if.
func conditional(p *cursor) expr {
	p.acceptWord("if")
	p.expect("(")
	c := &ifExpr{cond: expression(p)}
	p.expect(")")
	p.expectWord("then")
	c.then = single(p)
	p.expectWord("else")
	c.otherwise = single(p)
	return c
}
