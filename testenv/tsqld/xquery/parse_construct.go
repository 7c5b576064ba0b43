package xquery

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// computed reads a computed constructor. It returns nil if none comes next.
func computed(p *cursor) expr {
	start := p.pos
	word := p.rest()[:nameLength(p.rest())]
	if !slices.Contains([]string{"element", "attribute", "text", "comment", "processing-instruction", "document"}, word) {
		return nil
	}
	p.ncName()
	if word == "text" && p.accept("{") {
		x := &textExpr{x: single(p)}
		if !p.accept("}") && p.err == nil {
			p.fail(mserr.XQueryExpected, "}")
		}
		return x
	}
	switch {
	case p.at("{") && word == "comment":
		p.fail(mserr.XQueryComputedComment)
	case p.at("{") && word == "document":
		p.fail(mserr.XQueryUnsupported, "document")
	case p.at("{") && word == "processing-instruction":
		p.fail(mserr.XQueryComputedPI)
	case p.at("{") && word != "text":
		p.fail(mserr.XQueryConstantName)
	}
	if p.err != nil {
		return &sequenceExpr{}
	}
	if nameLength(p.rest()) > 0 {
		n := p.qName()
		if p.at("{") {
			return computedNamed(p, word, n)
		}
	}
	p.pos = start
	return nil
}

// computedNamed reads the content of element name {} or attribute name {}.
func computedNamed(p *cursor, word string, n Name) expr {
	if word == "processing-instruction" {
		p.fail(mserr.XQueryComputedPI)
	}
	if word == "attribute" && n.String() == "xmlns" {
		p.fail(mserr.XQueryXMLNS)
	}
	p.expect("{")
	var content expr = &sequenceExpr{}
	if !p.at("}") {
		content = expression(p)
	}
	p.expect("}")
	if word == "attribute" {
		return &attributeExpr{name: p.resolve(n, false), x: content}
	}
	return &elementExpr{name: p.resolve(n, true), content: []expr{content}}
}

// direct reads a constructor in the form of XML.
func direct(p *cursor) expr {
	if !p.enter() {
		return &sequenceExpr{}
	}
	defer p.leave()
	rest := p.src[p.pos:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return directComment(p)
	case strings.HasPrefix(rest, "<?"):
		return directInstruction(p)
	case nameLength(rest[1:]) == 0:
		p.fail(mserr.XQuerySyntax, rest[:min(2, len(rest))])
		return &sequenceExpr{}
	}
	p.pos++
	line := p.line(p.pos)
	n := p.qName()
	x := &elementExpr{}
	scope := len(p.spaces)
	directAttributes(p, x)
	x.name = p.resolve(n, true)
	if p.accept("/>") {
		p.spaces = p.spaces[:scope]
		return x
	}
	p.expect(">")
	content(p, x)
	end := p.qName()
	if end != n && p.err == nil {
		p.fail(mserr.XQueryEndTag, end.String(), n.String(), line)
	}
	p.expect(">")
	p.spaces = p.spaces[:scope]
	return x
}

// directAttributes reads the attributes of a start tag. Declarations of namespaces hold inside the
// element.
func directAttributes(p *cursor, x *elementExpr) {
	type named struct {
		n Name
		v expr
	}
	var attrs []named
	for p.err == nil && nameLength(p.rest()) > 0 {
		n := p.qName()
		p.expect("=")
		v, isLiteral := attributeValue(p)
		isDefault := n.Prefix == "" && n.Local == "xmlns"
		if !isDefault && n.Prefix != "xmlns" {
			attrs = append(attrs, named{n, v})
			continue
		}
		l, ok := v.(*literalExpr)
		if !isLiteral || !ok {
			p.fail(mserr.XQueryNamespaceValue)
			return
		}
		b := Binding{Prefix: n.Local, Space: l.a.text}
		if isDefault {
			b.Prefix = ""
		}
		x.spaces = append(x.spaces, b)
		p.spaces = append(p.spaces, b)
	}
	for _, a := range attrs {
		n := p.resolve(a.n, false)
		if slices.ContainsFunc(x.attrs, func(y *attributeExpr) bool { return y.name.is(n) }) && p.err == nil {
			p.fail(mserr.XQueryDuplicateAttribute, n.String())
		}
		x.attrs = append(x.attrs, &attributeExpr{name: n, x: a.v})
	}
}

// attributeValue reads the value of an attribute: a text, or one expression in braces.
func attributeValue(p *cursor) (v expr, isLiteral bool) {
	if !p.atString() {
		p.syntax()
		return &sequenceExpr{}, false
	}
	quote := p.src[p.pos]
	p.pos++
	var b strings.Builder
	for p.err == nil && p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"), len(rest) > 1 && rest[0] == quote && rest[1] == quote:
			b.WriteByte(rest[0])
			p.pos += 2
		case rest[0] == quote:
			p.pos++
			if v != nil {
				return v, false
			}
			return &literalExpr{textAtom(typeString, b.String())}, true
		case v != nil || rest[0] == '{' && b.Len() > 0:
			p.fail(mserr.XQueryAttributeParts)
		case rest[0] == '{':
			p.pos++
			v = expression(p)
			p.expect("}")
		case rest[0] == '}':
			p.fail(mserr.XQueryBrace)
		case rest[0] == '&':
			b.WriteString(p.entity())
		case rest[0] == '<':
			p.syntax()
		default:
			b.WriteByte(rest[0])
			p.pos++
		}
	}
	p.syntax()
	return &sequenceExpr{}, false
}

// content reads the content of an element up to and with the "</" of its end tag.
func content(p *cursor, x *elementExpr) {
	var b strings.Builder
	written := false // a part of the text is no boundary white space
	flush := func() {
		if s := b.String(); written || strings.Trim(s, " \t\r\n") != "" {
			x.content = append(x.content, &literalTextExpr{s})
		}
		b.Reset()
		written = false
	}
	for p.err == nil && p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case strings.HasPrefix(rest, "</"):
			flush()
			p.pos += 2
			return
		case strings.HasPrefix(rest, "<![CDATA["):
			text, _, ok := strings.Cut(rest[len("<![CDATA["):], "]]>")
			if !ok {
				p.syntax()
				return
			}
			b.WriteString(text)
			written = true
			p.pos += len("<![CDATA[") + len(text) + len("]]>")
		case rest[0] == '<':
			flush()
			x.content = append(x.content, direct(p))
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			b.WriteByte(rest[0])
			p.pos += 2
		case rest[0] == '{':
			flush()
			p.pos++
			x.content = append(x.content, expression(p))
			p.expect("}")
		case rest[0] == '}':
			p.fail(mserr.XQueryBrace)
		case rest[0] == '&':
			b.WriteString(p.entity())
			written = true
		default:
			b.WriteByte(rest[0])
			p.pos++
		}
	}
	p.syntax()
}

// directComment reads a comment. Error 9322 for "--" in it.
func directComment(p *cursor) expr {
	text, _, ok := strings.Cut(p.src[p.pos+len("<!--"):], "-->")
	switch {
	case !ok:
		p.fail(mserr.XQueryComment, p.line(p.pos))
	case strings.Contains(text, "--") || strings.HasSuffix(text, "-"):
		p.fail(mserr.XQueryTwoHyphens)
	default:
		p.pos += len("<!--") + len(text) + len("-->")
	}
	return &leafExpr{Node{kind: Comment, text: text}}
}

// directInstruction reads a processing instruction. Error 2294 for the target xml.
func directInstruction(p *cursor) expr {
	text, _, ok := strings.Cut(p.src[p.pos+len("<?"):], "?>")
	n := nameLength(text)
	switch {
	case !ok, n == 0, n < len(text) && !isSpace(text[n]):
		p.syntax()
	case strings.EqualFold(text[:n], "xml"):
		p.fail(mserr.XQueryTargetXML)
	default:
		p.pos += len("<?") + len(text) + len("?>")
	}
	return &leafExpr{Node{kind: Instruction, name: Name{Local: text[:n]}, text: strings.TrimLeft(text[n:], " \t\r\n")}}
}
