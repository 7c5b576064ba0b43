package importer

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of XML. A task has six levels, and none of the thousands on a machine has 10,000
// elements.
const (
	maxDepth    = 32
	maxElements = 200000
	// maxXMLText is the length of a text, in bytes: the parser needs 40 times as much for
	// attributes.
	maxXMLText = 4 << 20
)

// element is an XML element that records which of its children were taken. Children that were not
// taken are reported.
type element struct {
	name     string
	space    string
	comment  string // the comment before the element
	attrs    map[string]string
	children []*element
	text     string // without surrounding blanks; empty for an element with children
	taken    bool
}

// parseXML parses the elements on the top level of a text. The texts of schtasks are several
// documents in a row. The error contains no part of the text.
func parseXML(text string) ([]*element, error) {
	if len(text) > maxXMLText {
		return nil, fmt.Errorf("it has %d bytes: at most %d MB of XML are read", len(text), maxXMLText>>20)
	}
	d := xml.NewDecoder(strings.NewReader(text))
	// The text is UTF-8 whatever its declaration says: files were decoded when they were read.
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	top := &element{}
	open := []*element{top}
	texts := [][]byte{nil} // of the open elements; comments cut the text of one into pieces
	comment, count := "", 0
	for {
		token, err := d.Token()
		line, column := d.InputPos()
		if errors.Is(err, io.EOF) {
			return top.children, nil
		}
		if err != nil {
			return nil, fmt.Errorf("invalid XML at line %d, column %d", line, column)
		}
		last := open[len(open)-1]
		switch t := token.(type) {
		case xml.Comment:
			comment = strings.TrimSpace(string(t))
		case xml.Directive:
			return nil, fmt.Errorf("invalid XML at line %d, column %d: a document type is not read", line, column)
		case xml.StartElement:
			if count++; len(open) > maxDepth || count > maxElements {
				return nil, fmt.Errorf("invalid XML at line %d, column %d: more than %d levels or %d elements", line, column, maxDepth, maxElements)
			}
			e := &element{name: t.Name.Local, space: t.Name.Space, comment: comment, attrs: map[string]string{}}
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					e.attrs[a.Name.Local] = a.Value
				}
			}
			comment = ""
			last.children = append(last.children, e)
			open, texts = append(open, e), append(texts, nil)
		case xml.EndElement:
			end := len(open) - 1
			last.text = strings.TrimSpace(string(texts[end]))
			open, texts = open[:end], texts[:end]
		case xml.CharData:
			texts[len(open)-1] = append(texts[len(open)-1], t...)
		}
	}
}

// take returns the first child with a name that was not taken, and marks it as taken. The result
// is nil if there is none.
func (e *element) take(name string) *element {
	if e == nil {
		return nil
	}
	for _, c := range e.children {
		if c.name == name && !c.taken {
			c.taken = true
			return c
		}
	}
	return nil
}

// takeAll takes all children with a name.
func (e *element) takeAll(name string) (list []*element) {
	if e == nil {
		return nil
	}
	for _, c := range e.children {
		if c.name == name && !c.taken {
			c.taken = true
			list = append(list, c)
		}
	}
	return list
}

// takeText takes a child and returns its text; empty if there is none.
func (e *element) takeText(name string) string {
	if c := e.take(name); c != nil {
		return c.text
	}
	return ""
}

// takeBool takes a child that is a Boolean of XML Schema, and returns absent if there is none.
func (e *element) takeBool(name string, absent bool) bool {
	switch strings.ToLower(e.takeText(name)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return absent
}

// rest calls report with the path of each element below e that was not taken. path is that of e.
func (e *element) rest(path string, report func(path string)) {
	if e == nil {
		return
	}
	for _, c := range e.children {
		if at := path + "." + c.name; c.taken {
			c.rest(at, report)
		} else {
			report(at)
		}
	}
}

// whole marks all elements below e as taken, because a finding describes e as a whole.
func (e *element) whole() {
	for _, c := range e.children {
		c.taken = true
		c.whole()
	}
}
