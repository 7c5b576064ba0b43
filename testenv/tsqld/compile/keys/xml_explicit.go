package keys

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// XMLColumn is a column of FOR XML EXPLICIT behind the first two: ElementName!TagNumber!
// AttributeName!Directive ("Use EXPLICIT mode with FOR XML").
type XMLColumn struct {
	Tag     int
	Element string
	Name    string // of the attribute or of the element; "" for the content of the tag's element
	Kind    string // the directive in lower case; "" for an attribute
	Hidden  bool   // the directive hide
}

// xmlExplicit is the accumulator of FOR XML EXPLICIT.
type xmlExplicit struct {
	xmlDocument
	open    []int // the tags of the open elements
	pending bool  // the last start tag has no ">" yet
}

// element returns the name of a tag's element; ok is false for an undeclared tag.
func (d *xmlExplicit) element(tag int) (name string, ok bool) {
	for _, c := range d.spec.Explicit {
		if c.Tag == tag {
			return c.Element, true
		}
	}
	return "", false
}

// Step implements [store.Accumulator]. A row is an element: a child of the open element with the
// row's parent tag. Errors 6803, 6804, 6806, 6807 and 6833.
func (d *xmlExplicit) Step(args []types.Value) error {
	tag, ok := args[0].(int64)
	if !ok || tag < 1 {
		return mserr.XMLExplicitTag()
	}
	parent, ok := args[1].(int64)
	if args[1] != nil && (!ok || parent < 0) {
		return mserr.XMLExplicitParent()
	}
	name, ok := d.element(int(tag))
	if !ok {
		return mserr.Of(6806, tag)
	}
	at := 0
	if parent > 0 {
		if _, ok := d.element(int(parent)); !ok {
			return mserr.Of(6807, parent)
		}
		at = slices.Index(d.open, int(parent)) + 1
		if at == 0 {
			return mserr.Of(6833, parent)
		}
	}
	d.closeTo(at)
	d.content()
	d.b.WriteString("<" + name)
	if at == 0 {
		d.b.WriteString(d.namespace())
	}
	d.open, d.pending = append(d.open, int(tag)), true
	var e explicitElement
	for i, c := range d.spec.Explicit {
		if c.Tag != int(tag) || c.Hidden {
			continue
		}
		if err := d.column(&e, c, i+2, args[i+2]); err != nil {
			return err
		}
	}
	for _, a := range e.overflow {
		if !slices.ContainsFunc(d.spec.Explicit, func(c XMLColumn) bool {
			return c.Tag == int(tag) && c.Kind == "" && c.Name == a.name
		}) {
			d.b.WriteString(" " + a.text)
		}
	}
	if e.body != "" || e.content != "" || e.overflow != nil {
		d.content()
		d.b.WriteString(e.content + e.body)
	}
	return nil
}

// explicitElement is the part of an element that follows its attributes.
type explicitElement struct {
	overflow []xmlAttributeText // attributes of xmltext
	content  string             // of xmltext, before other content
	body     string
}

// xmlAttributeText is an attribute as text, with its name.
type xmlAttributeText struct{ name, text string }

// column writes a column of a row: an attribute to the open start tag, other values to e.
func (d *xmlExplicit) column(e *explicitElement, c XMLColumn, at int, v types.Value) error {
	if v == nil {
		if c.Kind == "elementxsinil" && c.Name != "" {
			e.body += "<" + c.Name + ` xsi:nil="true"/>`
		}
		return nil
	}
	text, err := d.value(v, at)
	if err != nil {
		return err
	}
	raw := d.spec.Columns[at].Raw
	switch {
	case c.Kind == "cdata":
		text = "<![CDATA[" + text + "]]>"
	case c.Kind == "xmltext" && c.Name == "":
		e.overflow, e.content = splitElement(text)
		return nil
	case c.Kind == "xmltext":
		attributes, content := splitElement(text)
		e.body += "<" + c.Name
		for _, a := range attributes {
			e.body += " " + a.text
		}
		if content == "" {
			e.body += "/>"
		} else {
			e.body += ">" + content + "</" + c.Name + ">"
		}
		return nil
	case c.Kind == "" && !raw:
		d.b.WriteString(" " + c.Name + `="` + xmlAttribute.Replace(text) + `"`)
		return nil
	case c.Kind != "xml" && !raw:
		text = xmlEscaper.Replace(text)
	}
	if c.Name != "" {
		text = "<" + c.Name + ">" + text + "</" + c.Name + ">"
	}
	e.body += text
	return nil
}

// splitElement returns the attributes and the content of the element that a text consists of. The
// attributes are not nil. The result for a text that is not well formed is undefined, as
// documented.
func splitElement(text string) (attributes []xmlAttributeText, content string) {
	attributes = []xmlAttributeText{}
	text = strings.TrimSpace(text)
	end := strings.IndexByte(text, '>')
	if !strings.HasPrefix(text, "<") || end < 0 {
		return attributes, text
	}
	tag, isEmpty := strings.CutSuffix(text[1:end], "/")
	if last := strings.LastIndex(text, "</"); !isEmpty && last > end {
		content = text[end+1 : last]
	}
	_, tag, _ = strings.Cut(tag, " ")
	for {
		name, rest, ok := strings.Cut(strings.TrimSpace(tag), "=")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" {
			return attributes, content
		}
		closing := strings.IndexByte(rest[1:], rest[0])
		if closing < 0 {
			return attributes, content
		}
		name = strings.TrimSpace(name)
		attributes = append(attributes, xmlAttributeText{name, name + "=" + rest[:closing+2]})
		tag = rest[closing+2:]
	}
}

// closeTo closes the open elements behind the first n.
func (d *xmlExplicit) closeTo(n int) {
	for len(d.open) > n {
		name, _ := d.element(d.open[len(d.open)-1])
		if d.pending {
			d.b.WriteString("/>")
		} else {
			d.b.WriteString("</" + name + ">")
		}
		d.pending = false
		d.open = d.open[:len(d.open)-1]
	}
}

// content ends the start tag that is pending.
func (d *xmlExplicit) content() {
	if d.pending {
		d.b.WriteByte('>')
		d.pending = false
	}
}

// Value implements [store.Accumulator].
func (d *xmlExplicit) Value() (types.Value, error) {
	d.closeTo(0)
	return d.xmlDocument.Value()
}
