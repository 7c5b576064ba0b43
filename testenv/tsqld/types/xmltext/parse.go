package xmltext

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// keepSpace is the style of CONVERT that keeps white space between elements.
const keepSpace = 1

// namespace is the namespace of the prefix xml ("Namespaces in XML").
const namespace = "http://www.w3.org/XML/1998/namespace"

// checkedReader calls check before each piece.
type checkedReader struct {
	r     io.Reader
	check func() error
}

// Read implements [io.Reader].
func (r checkedReader) Read(b []byte) (int, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// maxDepth is the maximum nesting of elements ("XML Data Type and Columns", limitations of the
// xml data type).
const maxDepth = 128

// Parse returns the stored form of an xml value. The form omits what the xml type does not preserve
// ("Create instances of XML data"): the declaration, the kind of quotation marks, and white space
// between elements unless style is 1 or xml:space is preserve. CDATA becomes text, and an element
// without content becomes one tag. Fragments are allowed.
//
// encoding is the encoding of the input: "utf-16", or "" if a declaration may name any extension of
// ASCII. style is that of CONVERT, -1 for CAST. Parse calls check, which may be nil, before each
// piece of the text.
//
// Errors: 6335, 6359, those of [mserr.XMLParse], and that of check.
func Parse(s, encoding string, style int, check func() error) (string, error) {
	s = strings.TrimPrefix(s, "\uFEFF")
	if strings.TrimSpace(s) == "" {
		return "", nil
	}
	var r io.Reader = strings.NewReader(s)
	if check != nil {
		r = checkedReader{r, check}
	}
	p := writer{src: s, d: xml.NewDecoder(r), style: style, encoding: encoding, check: check}
	p.d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // the text has been decoded to UTF-8
	for {
		from := p.d.InputOffset()
		t, err := p.d.Token()
		if errors.Is(err, io.EOF) {
			return p.out.String(), nil
		}
		if err != nil {
			return "", p.problem(err)
		}
		if err := p.token(t, s[from:p.d.InputOffset()]); err != nil {
			return "", err
		}
	}
}

// writer writes the stored form of a document during its parsing.
type writer struct {
	src      string
	d        *xml.Decoder
	style    int
	encoding string
	check    func() error // may end it; nil for none
	out      strings.Builder
	open     bool   // the last output is a start tag without its ">"
	keep     []bool // for each open element: xml:space is preserve
}

// token writes a token; raw is its text.
func (p *writer) token(t xml.Token, raw string) error {
	if _, end := t.(xml.EndElement); !end && p.open && !p.dropped(t, raw) {
		p.out.WriteByte('>')
		p.open = false
	}
	switch t := t.(type) {
	case xml.ProcInst:
		if !strings.EqualFold(t.Target, "xml") {
			p.out.WriteString(raw)
			return nil
		}
		return p.declaration(string(t.Inst))
	case xml.Directive:
		if strings.ContainsRune(raw, '[') && p.style < 2 {
			return mserr.Of(6359)
		}
	case xml.Comment:
		p.out.WriteString(raw)
	case xml.StartElement:
		keep := p.preserves()
		for _, a := range t.Attr {
			if a.Name.Space == namespace && a.Name.Local == "space" {
				keep = a.Value == "preserve"
			}
		}
		if p.keep = append(p.keep, keep); len(p.keep) > maxDepth {
			return mserr.Of(6335, maxDepth)
		}
		p.open = true
		return p.startTag(raw)
	case xml.EndElement:
		p.keep = p.keep[:len(p.keep)-1]
		if p.open {
			p.out.WriteString("/>")
			p.open = false
			return nil
		}
		p.out.WriteString("</" + strings.TrimSpace(raw[2:len(raw)-1]) + ">")
	case xml.CharData:
		if !p.dropped(t, raw) {
			p.text(string(t), raw)
		}
	}
	return nil
}

// preserves reports whether white space is significant here.
func (p *writer) preserves() bool { return len(p.keep) > 0 && p.keep[len(p.keep)-1] }

// dropped reports whether a token has no stored form: white space between elements, declarations.
func (p *writer) dropped(t xml.Token, raw string) bool {
	if _, ok := t.(xml.CharData); !ok {
		return false
	}
	return p.style != keepSpace && p.style != keepSpace|2 && !p.preserves() && strings.Trim(raw, " \t\r\n") == ""
}

// declaration checks <?xml ...?>, which is not stored.
func (p *writer) declaration(inst string) error {
	if p.out.Len() > 0 {
		return p.at(mserr.XMLDeclaration)
	}
	_, value, ok := strings.Cut(inst, "encoding")
	if !ok {
		return nil
	}
	value = strings.TrimLeft(value, " \t\r\n=")
	name, _, _ := strings.Cut(strings.TrimLeft(value, `'"`), value[:min(1, len(value))])
	wide := strings.EqualFold(name, "utf-16") || strings.EqualFold(name, "ucs-2")
	if (p.encoding == "utf-16") != wide {
		return p.at(mserr.XMLEncoding)
	}
	return nil
}

// piece is the size in bytes of the pieces of a start tag, before each of which its writer may
// be ended: as large as those that the decoder reads.
const piece = 4096

// startTag writes a start tag up to its ">".
func (p *writer) startTag(raw string) error {
	raw = strings.TrimSuffix(strings.TrimSuffix(raw[1:], ">"), "/")
	name := strings.IndexAny(raw, " \t\r\n")
	if name < 0 {
		name = len(raw)
	}
	p.out.WriteString("<" + raw[:name])
	checked := p.out.Len()
	for rest := raw[name:]; ; {
		if p.check != nil && p.out.Len()-checked >= piece {
			checked = p.out.Len()
			if err := p.check(); err != nil {
				return err
			}
		}
		before, value, ok := strings.Cut(rest, "=")
		if !ok {
			return nil
		}
		value = strings.TrimLeft(value, " \t\r\n")
		text, after, _ := strings.Cut(value[1:], value[:1])
		if value[0] == '\'' {
			text = strings.ReplaceAll(text, `"`, "&quot;")
		}
		p.out.WriteString(" " + strings.TrimSpace(before) + `="` + attribute.Replace(text) + `"`)
		rest = after
	}
}

// text writes character data. White space from character references is significant.
func (p *writer) text(s, raw string) {
	blank := strings.Trim(s, " \t\r\n") == "" && s != ""
	if blank && strings.Trim(raw, " \t\r\n") != "" && !p.preserves() {
		fmt.Fprintf(&p.out, "&#x%02X;", s[0])
		s = s[1:]
	}
	p.out.WriteString(content.Replace(s))
}

// attribute changes the text of an attribute into its stored form.
var attribute = strings.NewReplacer("&apos;", "'", ">", "&gt;")

// content writes a text as the content of an element.
var content = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;")

// at returns an error at the last position.
func (p *writer) at(problem string) error {
	before := p.src[:p.d.InputOffset()]
	line := 1 + strings.Count(before, "\n")
	return mserr.XMLParse(line, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]), problem)
}

// problem translates an error of the decoder.
func (p *writer) problem(err error) error {
	line, column := p.d.InputPos()
	problem := mserr.XMLIllegal
	switch text := err.Error(); {
	case strings.Contains(text, "unexpected EOF"):
		problem = mserr.XMLUnexpectedEnd
	case strings.Contains(text, "closed by"), strings.Contains(text, "unexpected end element"):
		problem = mserr.XMLEndTag
	}
	return mserr.XMLParse(line, column, problem)
}
