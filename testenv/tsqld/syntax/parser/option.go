package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// options reads options in parentheses. If joined is set, several words form one name (HASH JOIN);
// otherwise the words after the first one are its value (RECOVERY SIMPLE).
func (p *parser) options(joined bool) []*syntax.Option {
	p.expect("(")
	list := p.optionList(joined)
	p.expect(")")
	return list
}

// optionList reads options separated by commas.
func (p *parser) optionList(joined bool) []*syntax.Option {
	list := []*syntax.Option{p.option(joined)}
	for p.accept(",") {
		list = append(list, p.option(joined))
	}
	return list
}

// atWords reports whether the current token is a word that options consist of. Options contain some
// reserved words. Words that start statements are allowed in query hints only, where parentheses
// separate them from the next statement.
func (p *parser) atWords(hints bool) bool {
	t := p.current()
	return t.Kind == scanner.Word && (!t.IsReserved() || optionWords[t.Upper] || hints && hintWords[t.Upper])
}

// The reserved words that may be part of an option or of a query hint.
var (
	optionWords = scanner.WordSet(`ON OFF DEFAULT NULL ALL FOR READ CURSOR FILLFACTOR PLAN PRIMARY KEY PERCENT STATISTICS
		FULL HOLDLOCK EXTERNAL USER REPLICATION CHECK INDEX`)
	hintWords = scanner.WordSet(`USE MERGE JOIN GROUP ORDER UNION TABLE`)
)

// words reads words and returns them in capitals, joined by blanks.
func (p *parser) words(hints bool) string {
	s := ""
	for p.atWords(hints) {
		if s != "" {
			s += " "
		}
		s += p.next().Upper
	}
	return s
}

// option reads one option.
func (p *parser) option(joined bool) *syntax.Option {
	o := &syntax.Option{At: p.here()}
	if !p.enter() {
		return o
	}
	defer p.leave()
	t := p.current()
	switch {
	case t.Kind == scanner.Variable:
		p.next()
		o.Name = t.Text
		if p.atWords(joined) {
			o.Value = p.optionValue(joined)
			return o
		}
	case p.atWords(joined):
		if joined {
			o.Name = p.words(joined)
		} else {
			o.Name = p.next().Upper
		}
	default:
		o.Value = p.optionValue(joined)
		if p.at("(") {
			o.Sub = p.options(joined)
		}
		return o
	}
	if p.accept("=") {
		o.Equals = true
		o.Value = p.optionValue(joined)
	} else if p.valueFollows(joined) {
		o.Value = p.optionValue(joined)
	}
	if p.at("(") {
		o.Sub = p.options(joined)
	}
	return o
}

// valueFollows reports whether the current token can be the value of an option.
func (p *parser) valueFollows(joined bool) bool {
	t := p.current()
	_, constant := literalKinds[t.Kind]
	return constant || t.Kind == scanner.Variable || t.Kind == scanner.Quoted || t.Is("-") || p.atWords(joined)
}

// optionValue reads a constant with an optional sign, a variable, a quoted name, or words. A
// constant followed by words (60 SECONDS) becomes one keyword.
func (p *parser) optionValue(joined bool) syntax.Expr {
	e := p.here()
	t := p.current()
	switch {
	case p.accept("-"):
		l := p.literal()
		if l == nil {
			p.fail()
			return nil
		}
		return &syntax.UnaryExpr{At: e, Op: syntax.OpMinus, X: l}
	case t.Kind == scanner.Variable:
		p.next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case t.Kind == scanner.Quoted:
		return &syntax.ColumnRef{At: e, Parts: p.parts("object")}
	case t.Kind == scanner.Word && t.Upper == "TABLE" && !joined: // LOCK_ESCALATION = TABLE
		p.next()
		return &syntax.Keyword{At: e, Name: t.Upper}
	case p.atWords(joined):
		if p.peek(1).Is(".") { // INDEX(dbo.t), TABLE HINT(dbo.t, ...)
			return &syntax.ColumnRef{At: e, Parts: p.parts("object")}
		}
		return &syntax.Keyword{At: e, Name: p.words(joined)}
	}
	l := p.literal()
	if l == nil {
		p.fail()
		return nil
	}
	if l.Kind == syntax.IntLit && p.atWords(joined) {
		return &syntax.Keyword{At: e, Name: l.Text + " " + p.words(joined)}
	}
	return l
}
