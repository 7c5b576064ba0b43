package bind

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
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
func (b *Binder) document(q *tree.Query, f *syntax.ForClause) (*tree.Query, error) {
	if f.Kind == syntax.ForBrowse {
		return nil, mserr.NotSupported("FOR BROWSE")
	}
	columns := make([]keys.DocumentColumn, len(q.Columns))
	for i, c := range q.Columns {
		columns[i] = keys.DocumentColumn{Name: c.Name, Type: keys.TypeText(c.Type)}
		if q.Core != nil {
			columns[i].Raw = expr.IsJSON(q.Core.Items[i])
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
		return nil, mserr.Of(13620)
	case f.Mode == "AUTO":
		if err := jsonTables(q, &spec); err != nil {
			return nil, err
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
	if err := keys.CheckJSONNames(&spec); err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return &tree.Query{
		Inner:       q,
		Document:    tree.DocumentJSON,
		DocumentKey: keys.Make(keys.ForJSON, string(text)),
		IsWrapped:   !spec.NoWrapper,
		Columns:     []tree.ResultColumn{{Name: nameOfJSON, Type: b.OfDatabase(types.NVarCharMax), Null: true}},
	}, nil
}

// jsonTables finds the nested arrays of FOR JSON AUTO. The columns of built-in functions are
// expressions, and the rows of a set operation are flat. Error 13600.
func jsonTables(q *tree.Query, spec *keys.JSONSpec) error {
	if q.Core == nil {
		return nil
	}
	tables := slices.DeleteFunc(leavesOf(q.Core.From), func(s *tree.Source) bool {
		return s.Rowset != nil && s.Rowset.Op == tree.OpRowset
	})
	if len(tables) == 0 {
		return mserr.JSONNeedsTable()
	}
	t, sources := autoLevels(q.Core, tables)
	if len(t.Names) < 2 {
		return nil
	}
	spec.Tables = t
	for i, src := range sources {
		spec.Columns[i].Expr = src == nil
	}
	return nil
}
