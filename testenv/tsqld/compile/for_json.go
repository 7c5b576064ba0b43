package compile

import (
	"encoding/json"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The names of the only column of FOR JSON and FOR XML, as in SQL Server.
const (
	nameOfJSON = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"
	nameOfXML  = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
)

// document binds FOR JSON and FOR XML.
func (b *binder) document(q *query, f *syntax.ForClause) (*query, error) {
	if f.Kind == syntax.ForBrowse {
		return nil, mserr.NotSupported("FOR BROWSE")
	}
	columns := make([]keys.DocumentColumn, len(q.cols))
	for i, c := range q.cols {
		columns[i] = keys.DocumentColumn{Name: c.name, Type: keys.TypeText(c.typ)}
		if q.core != nil {
			columns[i].Raw = isJSON(q.core.items[i])
		}
	}
	if f.Kind == syntax.ForXML {
		return b.documentXMLOf(q, f, columns)
	}
	spec := keys.JSONSpec{Columns: columns}
	for _, o := range f.Options {
		switch o.Name {
		case "ROOT":
			spec.HasRoot, spec.Root = true, "root"
			if lit, ok := o.Value.(*syntax.Literal); ok {
				spec.Root = lit.Text
			}
		case "INCLUDE_NULL_VALUES":
			spec.Nulls = true
		case "WITHOUT_ARRAY_WRAPPER":
			spec.NoWrapper = true
		}
	}
	switch {
	case spec.HasRoot && spec.NoWrapper:
		return nil, mserr.New(13620, 16,
			"ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of these options.",
		)
	case f.Mode == "AUTO":
		if q.core == nil || q.core.from == nil {
			return nil, mserr.JSONNeedsTable()
		}
		if _, ok := q.core.from.(*source); !ok {
			return nil, mserr.NotSupported("FOR JSON AUTO over several tables")
		}
	}
	for _, c := range columns {
		if c.Name == "" {
			return nil, mserr.JSONUnnamed()
		}
	}
	if f.Mode != "PATH" { // dots are separators in PATH mode only
		for i := range columns {
			columns[i].Name = strings.ReplaceAll(columns[i].Name, ".", "\x00")
		}
	}
	if _, err := keys.JSONTree(columns); err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return &query{
		inner:       q,
		document:    documentJSON,
		documentKey: keys.Make(keys.ForJSON, string(text)),
		isWrapped:   !spec.NoWrapper,
		cols:        []outColumn{{name: nameOfJSON, typ: b.ofDatabase(types.NVarCharMax), null: true}},
	}, nil
}
