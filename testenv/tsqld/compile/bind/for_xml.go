package bind

import (
	"encoding/json"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// documentXMLOf binds FOR XML.
func (b *Binder) documentXMLOf(q *tree.Query, f *syntax.ForClause, columns []keys.DocumentColumn) (*tree.Query, error) {
	spec := keys.XMLSpec{Columns: columns, Element: "row", Elements: f.Mode == "PATH", Spaces: b.Place.Spaces}
	if f.Mode == "EXPLICIT" {
		var err error
		if spec.Explicit, err = explicitColumns(q); err != nil {
			return nil, err
		}
		spec.Nil = slices.ContainsFunc(spec.Explicit, func(c keys.XMLColumn) bool { return c.Kind == "elementxsinil" })
	}
	if f.Mode == "AUTO" {
		var err error
		if spec.Tables, err = autoTables(q); err != nil {
			return nil, err
		}
	}
	base64 := false
	if f.Element != nil {
		spec.Element = f.Element.Text
	}
	t := b.OfDatabase(types.NVarCharMax)
	for _, o := range f.Options {
		switch o.Name {
		case "ROOT":
			spec.Root = "root"
			if lit, ok := o.Value.(*syntax.Literal); ok {
				spec.Root = lit.Text
			}
		case "TYPE":
			t = types.Type{ID: types.XML}
		case "ELEMENTS", "ELEMENTS ABSENT", "ELEMENTS XSINIL":
			if f.Mode == "EXPLICIT" {
				return nil, mserr.Of(6825)
			}
			spec.Elements, spec.Nil = true, o.Name == "ELEMENTS XSINIL"
		case "BINARY BASE64":
			base64 = true
		default:
			return nil, mserr.NotSupported("FOR XML with %s", o.Name)
		}
	}
	for i, c := range q.Columns {
		columns[i].Raw = c.Type.ID == types.XML
		switch {
		case c.Name == "" && f.Mode == "RAW":
			return nil, mserr.XMLUnnamed()
		case f.Mode == "AUTO" && !base64 && (c.Type.IsBinary() || c.Type.ID == types.Image):
			return nil, mserr.NotSupported("the address of a binary value in FOR XML AUTO without BINARY BASE64")
		case f.Mode == "EXPLICIT" && !base64 && (c.Type.IsBinary() || c.Type.ID == types.Image):
			return nil, mserr.XMLBinaryAddress(c.Name)
		case f.Mode != "PATH":
			columns[i].Name = keys.XMLName(c.Name)
		}
	}
	if f.Mode == "PATH" && spec.Element == "" && len(spec.Spaces) > 0 {
		return nil, mserr.NotSupported("FOR XML PATH('') with XMLNAMESPACES")
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return &tree.Query{Inner: q, Document: tree.DocumentXML, DocumentKey: keys.Make(keys.ForXML, string(text)),
		Columns: []tree.ResultColumn{{Name: nameOfXML, Type: t, Null: true}}}, nil
}
