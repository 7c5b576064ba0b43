package syntax

// options reads options in parentheses. If joined is set, several words form one name (HASH JOIN);
// otherwise the words after the first one are its value (RECOVERY SIMPLE).
func (p *parser) options(joined bool) []*Option {
	p.expect("(")
	list := p.optionList(joined)
	p.expect(")")
	return list
}

// optionList reads options separated by commas.
func (p *parser) optionList(joined bool) []*Option {
	list := []*Option{p.option(joined)}
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
	return t.kind == tokWord && (!reserved[t.upper] || optionWords[t.upper] || hints && hintWords[t.upper])
}

// The reserved words that may be part of an option or of a query hint.
var (
	optionWords = wordSet(`ON OFF DEFAULT NULL ALL FOR READ CURSOR FILLFACTOR PLAN PRIMARY KEY PERCENT STATISTICS
		FULL HOLDLOCK EXTERNAL USER REPLICATION CHECK INDEX`)
	hintWords = wordSet(`USE MERGE JOIN GROUP ORDER UNION TABLE`)
)

// words reads words and returns them in capitals, joined by blanks.
func (p *parser) words(hints bool) string {
	s := ""
	for p.atWords(hints) {
		if s != "" {
			s += " "
		}
		s += p.next().upper
	}
	return s
}

// option reads one option.
func (p *parser) option(joined bool) *Option {
	o := &Option{At: p.here()}
	if !p.enter() {
		return o
	}
	defer p.leave()
	t := p.current()
	switch {
	case t.kind == tokVar:
		p.next()
		o.Name = t.text
		if p.atWords(joined) {
			o.Value = p.optionValue(joined)
			return o
		}
	case p.atWords(joined):
		if joined {
			o.Name = p.words(joined)
		} else {
			o.Name = p.next().upper
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
	_, constant := literalKinds[t.kind]
	return constant || t.kind == tokVar || t.kind == tokQuoted || t.is("-") || p.atWords(joined)
}

// optionValue reads a constant with an optional sign, a variable, a quoted name, or words. A
// constant followed by words (60 SECONDS) becomes one keyword.
func (p *parser) optionValue(joined bool) Expr {
	e := p.here()
	t := p.current()
	switch {
	case p.accept("-"):
		l := p.literal()
		if l == nil {
			p.fail()
			return nil
		}
		return &UnaryExpr{At: e, Op: OpMinus, X: l}
	case t.kind == tokVar:
		p.next()
		return &VarRef{At: e, Name: t.text}
	case t.kind == tokQuoted:
		return &ColumnRef{At: e, Parts: p.parts("object")}
	case t.kind == tokWord && t.upper == "TABLE" && !joined: // LOCK_ESCALATION = TABLE
		p.next()
		return &Keyword{At: e, Name: t.upper}
	case p.atWords(joined):
		if p.peek(1).is(".") { // INDEX(dbo.t), TABLE HINT(dbo.t, ...)
			return &ColumnRef{At: e, Parts: p.parts("object")}
		}
		return &Keyword{At: e, Name: p.words(joined)}
	}
	l := p.literal()
	if l == nil {
		p.fail()
		return nil
	}
	if l.Kind == IntLit && p.atWords(joined) {
		return &Keyword{At: e, Name: l.Text + " " + p.words(joined)}
	}
	return l
}
