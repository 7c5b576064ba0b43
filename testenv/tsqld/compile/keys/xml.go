package keys

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

// XMLSpec is the specification of a FOR XML clause; its JSON is part of the aggregate's key.
type XMLSpec struct {
	Columns  []DocumentColumn
	Element  string // name of a row's element; "" for none
	Root     string // name of the root element; "" for none
	Elements bool   // columns become elements instead of attributes
	Nil      bool   // ELEMENTS XSINIL
	// Tables are the elements of FOR XML AUTO; empty for other modes.
	Tables AutoTables
	// Explicit are the columns of FOR XML EXPLICIT behind the first two; empty for other modes.
	Explicit []XMLColumn      `json:",omitempty"`
	Spaces   []xquery.Binding `json:",omitempty"` // WITH XMLNAMESPACES
}

// xmlDocument is the accumulator of FOR XML.
type xmlDocument struct {
	spec *XMLSpec
	ts   []types.Type
	b    strings.Builder
}

// newXMLDocument returns the constructor of the accumulators for a FOR XML key.
func newXMLDocument(key string) (func() store.Accumulator, error) {
	spec := &XMLSpec{}
	if err := json.Unmarshal([]byte(key), spec); err != nil {
		return nil, mserr.NotSupported("the key of FOR XML")
	}
	ts, err := columnTypes(spec.Columns)
	if err != nil {
		return nil, err
	}
	return func() store.Accumulator { return newXMLAccumulator(spec, ts) }, nil
}

// xmlEscaper escapes the text of an element as SQL Server does.
var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;")

// xmlAttribute escapes the text of an attribute as SQL Server does.
var xmlAttribute = strings.NewReplacer(
	"&",
	"&amp;",
	"<",
	"&lt;",
	">",
	"&gt;",
	"\"",
	"&quot;",
	"\r",
	"&#x0D;",
	"\n",
	"&#x0A;",
	"\t",
	"&#x09;",
)

// value returns the text of a column's value.
func (d *xmlDocument) value(v types.Value, i int) (string, error) {
	t := d.ts[i]
	switch {
	case t.ID == types.Bit:
		if v == int64(1) {
			return "1", nil
		}
		return "0", nil
	case t.IsBinary():
		b, _ := v.([]byte)
		return base64.StdEncoding.EncodeToString(b), nil
	}
	style := types.NoStyle
	if t.IsTemporal() && t.ID != types.Date && t.ID != types.Time {
		style = 126
	}
	s, err := types.Convert(v, t, types.NVarCharMax, style)
	text, _ := s.(string)
	return text, err
}

// Step implements [store.Accumulator].
func (d *xmlDocument) Step(args []types.Value) error {
	var attributes, body strings.Builder
	var open []string
	leave := func(n int) {
		for len(open) > n {
			body.WriteString("</" + open[len(open)-1] + ">")
			open = open[:len(open)-1]
		}
	}
	for i, c := range d.spec.Columns {
		if args[i] == nil && !d.spec.Nil {
			continue
		}
		text := ""
		if args[i] != nil {
			s, err := d.value(args[i], i)
			if err != nil {
				return err
			}
			text = s
		}
		name, isAttribute := strings.CutPrefix(c.Name, "@")
		if isAttribute || !d.spec.Elements && !c.Raw {
			if args[i] != nil {
				attributes.WriteString(" " + name + "=\"" + xmlAttribute.Replace(text) + "\"")
			}
			continue
		}
		if !c.Raw {
			text = xmlEscaper.Replace(text)
		}
		path := strings.Split(name, "/")
		switch last := path[len(path)-1]; last {
		case "", "*", "text()", "node()", "data()":
			path = path[:len(path)-1]
		}
		common := 0
		for common < len(open) && common < len(path)-1 && open[common] == path[common] {
			common++
		}
		leave(common)
		for len(open) < len(path) {
			name := path[len(open)]
			if args[i] == nil && len(open) == len(path)-1 {
				body.WriteString("<" + name + " xsi:nil=\"true\"/>")
				break
			}
			body.WriteString("<" + name + ">")
			open = append(open, name)
		}
		body.WriteString(text)
		if len(path) > 0 {
			leave(len(path) - 1)
		}
	}
	leave(0)
	d.row(attributes.String(), body.String())
	return nil
}

// row writes the element of a row.
func (d *xmlDocument) row(attributes, body string) {
	e := d.spec.Element
	switch {
	case e == "":
		d.b.WriteString(body)
	case body == "":
		d.b.WriteString("<" + e + d.namespace() + attributes + "/>")
	default:
		d.b.WriteString("<" + e + d.namespace() + attributes + ">" + body + "</" + e + ">")
	}
}

// namespace returns the declarations of namespaces for a row element, if no root element has them.
func (d *xmlDocument) namespace() string {
	if d.spec.Root == "" {
		return d.declarations()
	}
	return ""
}

// declarations returns the declarations of namespaces, in SQL Server's order: the last first.
func (d *xmlDocument) declarations() string {
	text := ""
	if d.spec.Nil {
		text = xsi
	}
	for i := len(d.spec.Spaces) - 1; i >= 0; i-- {
		s := d.spec.Spaces[i]
		name := "xmlns"
		if s.Prefix != "" {
			name += ":" + s.Prefix
		}
		text += " " + name + `="` + xmlAttribute.Replace(s.Space) + `"`
	}
	return text
}

// xsi declares the namespace of xsi:nil.
const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`

// Held implements [store.Holder].
func (d *xmlDocument) Held() int { return builderBytes(&d.b) }

// Value implements [store.Accumulator].
func (d *xmlDocument) Value() (types.Value, error) {
	if d.spec.Root == "" {
		return d.b.String(), nil
	}
	open := d.spec.Root + d.declarations()
	return "<" + open + ">" + d.b.String() + "</" + d.spec.Root + ">", nil
}
