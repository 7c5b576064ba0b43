package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// AutoTables are the tables of FOR XML AUTO and FOR JSON AUTO, one for each level, and the level of
// each column.
type AutoTables struct {
	Names  []string `json:",omitempty"`
	Levels []int    `json:",omitempty"`
}

// XMLName encodes a name as a name of XML: other characters become _xHHHH_.
func XMLName(name string) string {
	var b strings.Builder
	for i, c := range name {
		first := unicode.IsLetter(c) || c == '_'
		switch {
		case c == '_' && strings.HasPrefix(name[i:], "_x"), // would look like an encoded character
			!first && (i == 0 || !unicode.IsDigit(c) && c != '-' && c != '.' && c != ':'):
			fmt.Fprintf(&b, "_x%04X_", c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// xmlAuto is the accumulator of FOR XML AUTO.
type xmlAuto struct {
	xmlDocument
	last    [][]types.Value // the values of the open elements, by level
	pending bool            // the last start tag has no ">" yet
}

// Step implements [store.Accumulator]. Elements whose columns have the values of the row before
// stay open, except the innermost one.
func (d *xmlAuto) Step(args []types.Value) error {
	levels := len(d.spec.Tables.Names)
	row := make([][]types.Value, levels)
	for i, v := range args {
		at := d.spec.Tables.Levels[i]
		row[at] = append(row[at], v)
	}
	from := 0
	for from < len(d.last)-1 && d.same(from, row[from]) {
		from++
	}
	d.closeTo(from)
	for at := from; at < levels; at++ {
		if err := d.open(at, args); err != nil {
			return err
		}
		d.last = append(d.last, slices.Clone(row[at]))
	}
	return nil
}

// same reports whether an open element has the given values.
func (d *xmlAuto) same(level int, values []types.Value) bool {
	k := 0
	for i, at := range d.spec.Tables.Levels {
		if at != level {
			continue
		}
		if !sameInAuto(d.last[level][k], values[k], d.ts[i]) {
			return false
		}
		k++
	}
	return true
}

// sameInAuto reports whether two values of a column keep their rows in one element. Values of xml
// and of the types text, ntext and image never do ("Use AUTO mode with FOR XML").
func sameInAuto(a, b types.Value, t types.Type) bool {
	switch {
	case t.ID == types.XML || t.ID == types.Text || t.ID == types.NText || t.ID == types.Image:
		return false
	case a == nil || b == nil:
		return a == nil && b == nil
	}
	return types.Compare(a, b, t) == 0
}

// closeTo closes the elements of a level and below it.
func (d *xmlAuto) closeTo(level int) {
	for len(d.last) > level {
		at := len(d.last) - 1
		if d.pending {
			d.b.WriteString("/>")
		} else {
			d.b.WriteString("</" + d.spec.Tables.Names[at] + ">")
		}
		d.pending = false
		d.last = d.last[:at]
	}
}

// content ends the start tag that is pending.
func (d *xmlAuto) content() {
	if d.pending {
		d.b.WriteByte('>')
		d.pending = false
	}
}

// open opens the element of a level with its columns.
func (d *xmlAuto) open(level int, args []types.Value) error {
	d.content()
	d.b.WriteString("<" + d.spec.Tables.Names[level])
	if level == 0 {
		d.b.WriteString(d.namespace())
	}
	d.pending = true
	var elements strings.Builder
	for i, c := range d.spec.Columns {
		if d.spec.Tables.Levels[i] != level {
			continue
		}
		if args[i] == nil {
			if d.spec.Nil {
				elements.WriteString("<" + c.Name + ` xsi:nil="true"/>`)
			}
			continue
		}
		text, err := d.value(args[i], i)
		switch {
		case err != nil:
			return err
		case c.Raw:
			elements.WriteString("<" + c.Name + ">" + text + "</" + c.Name + ">")
		case d.spec.Elements:
			elements.WriteString("<" + c.Name + ">" + xmlEscaper.Replace(text) + "</" + c.Name + ">")
		default:
			d.b.WriteString(" " + c.Name + `="` + xmlAttribute.Replace(text) + `"`)
		}
	}
	if elements.Len() > 0 {
		d.content()
		d.b.WriteString(elements.String())
	}
	return nil
}

// Held implements [store.Holder].
func (d *xmlAuto) Held() int {
	n := d.xmlDocument.Held()
	for _, row := range d.last {
		n += rowBytes(row)
	}
	return n
}

// Value implements [store.Accumulator].
func (d *xmlAuto) Value() (types.Value, error) {
	d.closeTo(0)
	return d.xmlDocument.Value()
}

// newXMLAccumulator returns the accumulator of a FOR XML clause.
func newXMLAccumulator(spec *XMLSpec, ts []types.Type) store.Accumulator {
	if len(spec.Tables.Names) > 0 {
		return &xmlAuto{xmlDocument: xmlDocument{spec: spec, ts: ts}}
	}
	if len(spec.Explicit) > 0 {
		return &xmlExplicit{xmlDocument: xmlDocument{spec: spec, ts: ts}}
	}
	return &xmlDocument{spec: spec, ts: ts}
}
