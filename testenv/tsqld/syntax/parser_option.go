package syntax

// options reads options in parentheses. With joined set, several words make one name (HASH JOIN); else the words behind
// the first one are its value (RECOVERY SIMPLE).
func (p *parser) options(joined bool) []*Option {
	p.want("(")
	list := p.optionList(joined)
	p.want(")")
	return list
}

// optionList reads options separated by commas.
func (p *parser) optionList(joined bool) []*Option {
	list := []*Option{p.option(joined)}
	for p.got(",") {
		list = append(list, p.option(joined))
	}
	return list
}

// atWords reports whether a word comes that is no WITH: what options consist of. ON and OFF are reserved words, and
// still belong to them.
func (p *parser) atWords() bool {
	t := p.tok()
	return t.kind == tokWord && (!reserved[t.up] || optionWords[t.up])
}

// optionWords are the reserved words that may be part of an option.
var optionWords = wordSet(`ON OFF DEFAULT NULL ALL FOR READ ONLY CURSOR FILLFACTOR PLAN JOIN GROUP ORDER UNION TABLE INDEX
	KEY CHECK IDENTITY PRIMARY OPTION MERGE HASH LOOP FORCE SCHEMA PERCENT STATISTICS USE DATABASE FILE EXTERNAL USER
	REPLICATION AUTHORIZATION BACKUP RESTORE PRECISION TRIGGER FUNCTION VIEW PROCEDURE FULL HOLDLOCK`)

// words reads words and joins them by blanks, in capitals.
func (p *parser) words() string {
	s := ""
	for p.atWords() {
		if s != "" {
			s += " "
		}
		s += p.next().up
	}
	return s
}

// option reads one option.
func (p *parser) option(joined bool) *Option {
	o := &Option{node: p.here()}
	if !p.enter() {
		return o
	}
	defer p.leave()
	t := p.tok()
	switch {
	case t.kind == tokVar:
		p.next()
		o.Name = t.text
		if p.atWords() {
			o.Value = p.optionValue()
			return o
		}
	case p.atWords():
		if joined {
			o.Name = p.words()
		} else {
			o.Name = p.next().up
		}
	default:
		o.Value = p.optionValue()
		if p.at("(") {
			o.Sub = p.options(joined)
		}
		return o
	}
	if p.got("=") {
		o.Equals = true
		o.Value = p.optionValue()
	} else if !p.atAny("(", ")", ",", ";", "WITH") && p.valueFollows() {
		o.Value = p.optionValue()
	}
	if p.at("(") {
		o.Sub = p.options(joined)
	}
	return o
}

// valueFollows reports whether something comes that can be an option's value.
func (p *parser) valueFollows() bool {
	t := p.tok()
	_, constant := literalKinds[t.kind]
	return constant || t.kind == tokVar || t.kind == tokQuoted || t.is("-") || p.atWords()
}

// optionValue reads a constant with an optional sign, a variable, a quoted name, or words. A constant with words behind it
// (60 SECONDS) becomes one keyword.
func (p *parser) optionValue() Expr {
	e := expr{p.here()}
	t := p.tok()
	switch {
	case p.got("-"):
		l := p.literal()
		if l == nil {
			p.fail()
			return nil
		}
		return &UnaryExpr{expr: e, Op: OpMinus, X: l}
	case t.kind == tokVar:
		p.next()
		return &VarRef{expr: e, Name: t.text}
	case t.kind == tokQuoted:
		return &ColumnRef{expr: e, Parts: p.parts("object")}
	case p.atWords():
		if p.ahead(1).is(".") { // INDEX(dbo.t), TABLE HINT(dbo.t, ...)
			return &ColumnRef{expr: e, Parts: p.parts("object")}
		}
		return &Keyword{expr: e, Name: p.words()}
	}
	l := p.literal()
	if l == nil {
		p.fail()
		return nil
	}
	if l.Kind == IntLit && p.atWords() {
		return &Keyword{expr: e, Name: l.Text + " " + p.words()}
	}
	return l
}
