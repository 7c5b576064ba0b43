package compile

import (
	"encoding/hex"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The keys of rowsets.
const (
	keyRowset = "rs"     // name|...: the rows of a table-valued function
	keyDecode = "decode" // the rows of a text encoded by EncodeRows
	keyPacked = "packed" // prefix of another key, with '|': each row as one field, for more columns than rowset(...) has
)

// rowset returns the call of a table-valued function. The node is not an expression: see
// [renderer.rowset].
func rowset(key string, args ...*node) (*node, error) {
	if _, err := resolveRows(key); err != nil {
		return nil, err
	}
	n := build(opRowset, types.NVarCharMax, args...)
	n.key = key
	n.traits |= canFail
	return n, nil
}

// rowset writes the call of a table-valued function. For any other node it writes a function that
// decodes the node's value.
func (r *renderer) rowset(s *source) {
	key, args := keyDecode, []*node{s.rowset}
	if s.rowset.op == opRowset {
		key, args = s.rowset.key, s.rowset.args
	}
	if s.isPacked() {
		key = keyPacked + "|" + key
	}
	r.WriteString("rowset(" + store.Literal(key))
	for _, a := range args {
		r.WriteString(", ")
		r.node(a)
	}
	r.WriteByte(')')
}

// isPacked reports whether a source has more columns than rowset(...).
func (s *source) isPacked() bool { return len(s.cols) > store.RowsetColumns }

// fields maps the columns of a source to those of rowset(...).
func (s *source) fields() {
	for i := range s.cols {
		c := &s.cols[i]
		c.sql, c.expand = columnName(i), nil
		if !s.isPacked() {
			continue
		}
		c.expand = func() (*node, error) {
			n, err := call(
				makeKey(keyField, strconv.Itoa(i)),
				c.typ,
				&node{op: opCol, typ: types.NVarCharMax, null: true, src: s, col: packedColumn, traits: hasColumn},
			)
			if err != nil {
				return nil, err
			}
			n.traits &^= canFail
			n.null, n.label = c.null, c.label
			return n, nil
		}
	}
}

// resolveRows returns the function of a rowset key.
func resolveRows(key string) (store.RowsFunc, error) {
	if rest, ok := strings.CutPrefix(key, keyPacked+"|"); ok {
		f, err := resolveRows(rest)
		if err != nil {
			return nil, err
		}
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			rows, err := f(m, args)
			if err != nil {
				return nil, err
			}
			return packedRows{rows}, nil
		}, nil
	}
	parts := strings.Split(key, "|")
	r := &keyReader{key: key, part: parts[1:]}
	var f store.RowsFunc
	switch parts[0] {
	case keyRowset:
		f = rowsFunc(r)
	case keyDecode:
		f = func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			s, _ := args[0].(string)
			rows, err := decodeRows(m, s)
			return store.ListedRows(rows), err
		}
	default:
		r.fail()
	}
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

// EncodeRows encodes rows as one text, in which they pass through SQLite. [LocalTableFunction]
// returns such a text.
func EncodeRows(rows [][]types.Value) string {
	e := rowEncoder{}
	for _, r := range rows {
		e.add(r)
	}
	return e.text()
}

// rowEncoder encodes rows: for each row the number of its fields, a semicolon, then the fields.
type rowEncoder struct{ b strings.Builder }

// add appends a row.
func (e *rowEncoder) add(row []types.Value) {
	e.b.WriteString(strconv.Itoa(len(row)))
	e.b.WriteByte(';')
	encodeFields(&e.b, row)
}

// text returns the encoded rows.
func (e *rowEncoder) text() string { return e.b.String() }

// decodeRows decodes the rows encoded by EncodeRows.
func decodeRows(m *meter.Meter, s string) ([][]types.Value, error) {
	var rows [][]types.Value
	for s != "" {
		count, rest, _ := strings.Cut(s, ";")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > len(rest) {
			return nil, errRow
		}
		row := make([]types.Value, n)
		s = rest
		for i := range row {
			if row[i], s, err = cutField(s); err != nil {
				return nil, err
			}
		}
		if err := m.Take(entryBytes + n*entryBytes/2); err != nil { // the texts share the memory of s
			return nil, err
		}
		if err := m.Work(entryBytes * n); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// encodeFields encodes the values of a row.
func encodeFields(b *strings.Builder, row []types.Value) {
	for _, v := range row {
		encodeField(b, v)
	}
}

// encodeField encodes a value: a letter for its Go type, its length in bytes, a colon and its text.
// Texts that SQLite might change (NUL, invalid UTF-8) are encoded in hexadecimal.
func encodeField(b *strings.Builder, v types.Value) {
	tag, s := byte('n'), ""
	switch v := v.(type) {
	case int64:
		tag, s = 'i', strconv.FormatInt(v, 10)
	case float64:
		tag, s = 'f', strconv.FormatUint(math.Float64bits(v), 16)
	case string:
		tag, s = 's', v
		if strings.ContainsRune(v, 0) || !utf8.ValidString(v) {
			tag, s = 't', hex.EncodeToString([]byte(v))
		}
	case []byte:
		tag, s = 'b', hex.EncodeToString(v)
	}
	b.WriteByte(tag)
	b.WriteString(strconv.Itoa(len(s)))
	b.WriteByte(':')
	b.WriteString(s)
}

// decodeField returns the i-th value of an encoded row; the values of a NULL row are NULL.
func decodeField(row types.Value, i int) (types.Value, error) {
	s, ok := row.(string)
	if !ok {
		return nil, nil
	}
	for ; ; i-- {
		v, rest, err := cutField(s)
		if err != nil || i == 0 {
			return v, err
		}
		s = rest
	}
}

// cutField decodes the first value of a text and returns the rest of the text.
func cutField(s string) (v types.Value, rest string, err error) {
	colon := strings.IndexByte(s, ':')
	if colon < 2 {
		return nil, "", errRow
	}
	n, err := strconv.Atoi(s[1:colon])
	if err != nil || n < 0 || n > len(s)-colon-1 {
		return nil, "", errRow
	}
	v, err = decodeValue(s[0], s[colon+1:colon+1+n])
	return v, s[colon+1+n:], err
}

// decodeValue decodes one value.
func decodeValue(tag byte, s string) (types.Value, error) {
	switch tag {
	case 'n':
		return nil, nil
	case 's':
		return s, nil
	case 'i':
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	case 'f':
		if n, err := strconv.ParseUint(s, 16, 64); err == nil {
			return math.Float64frombits(n), nil
		}
	case 't', 'b':
		if v, err := hex.DecodeString(s); err == nil {
			if tag == 't' {
				return string(v), nil
			}
			return v, nil
		}
	}
	return nil, errRow
}

// errRow is the error for a row that was not encoded by encodeField.
var errRow error = mserr.NotSupported("a row in an unknown encoding")

// packedRows encodes the values of each row as one value.
type packedRows struct{ store.RowSource }

// Next implements [store.RowSource].
func (p packedRows) Next() ([]types.Value, error) {
	row, err := p.RowSource.Next()
	if row == nil || err != nil {
		return nil, err
	}
	var b strings.Builder
	encodeFields(&b, row)
	return []types.Value{b.String()}, nil
}

// rowsOf collects the rows of a sequence.
func rowsOf(m *meter.Meter, seq iter.Seq2[[]types.Value, error]) (store.RowSource, error) {
	var rows [][]types.Value
	for row, err := range seq {
		if err != nil {
			return nil, err
		}
		n := rowBytes(row)
		if err := m.Work(n); err != nil {
			return nil, err
		}
		if err := m.Take(n); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return store.ListedRows(rows), nil
}

// rowsFunc returns the function of a key of keyRowset.
func rowsFunc(r *keyReader) store.RowsFunc {
	switch name := r.next(); name {
	case "OPENJSON":
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			s, path, ok := jsonArguments(args)
			if !ok {
				return store.ListedRows(nil), nil
			}
			return rowsOf(m, builtin.OpenJSON(m, s, path))
		}
	case "OPENJSONWITH":
		var columns []builtin.JSONColumn
		for len(r.part) > 0 {
			columns = append(
				columns,
				builtin.JSONColumn{Name: r.text(), Type: r.typ(), Path: r.text(), AsJSON: r.next() == "1"},
			)
		}
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			s, path, ok := jsonArguments(args)
			if !ok {
				return store.ListedRows(nil), nil
			}
			return rowsOf(m, builtin.OpenJSONWith(m, s, path, columns))
		}
	case rowsXMLNodes:
		return xmlNodesFunc(r)
	case "STRING_SPLIT":
		return stringSplit
	case "GENERATE_SERIES":
		t := r.typ()
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) { return series(args, t) }
	}
	r.fail()
	return nil
}

// jsonArguments returns the text and path of OPENJSON; ok is false if one is NULL.
func jsonArguments(args []types.Value) (s, path string, ok bool) {
	s, ok = args[0].(string)
	if ok && len(args) > 1 {
		path, ok = args[1].(string)
	}
	return s, path, ok
}

// stringSplit implements STRING_SPLIT: it returns the parts and their ordinals.
func stringSplit(m *meter.Meter, args []types.Value) (store.RowSource, error) {
	s, ok := args[0].(string)
	if !ok {
		return store.ListedRows(nil), nil
	}
	sep, _ := args[1].(string)
	if types.Units(sep) != 1 {
		return nil, mserr.ParameterType("separator", "nchar(1)/nvarchar(1)")
	}
	r := &splitRows{m: m, text: s, sep: sep}
	r.Rewind()
	return r, nil
}

// splitRows splits a text while its rows are read.
type splitRows struct {
	m         *meter.Meter
	text, sep string
	rest      string
	n         int64 // number of parts returned; -1 after the last one
	row       [2]types.Value
}

// Rewind implements [store.RowSource].
func (r *splitRows) Rewind() { r.rest, r.n = r.text, 0 }

// Next implements [store.RowSource].
func (r *splitRows) Next() ([]types.Value, error) {
	if r.n < 0 {
		return nil, nil
	}
	part, rest, more := strings.Cut(r.rest, r.sep)
	if err := r.m.Work(len(part) + 1); err != nil {
		return nil, err
	}
	r.row[0], r.row[1] = part, r.n+1
	r.rest, r.n = rest, r.n+1
	if !more {
		r.n = -1
	}
	return r.row[:], nil
}

// series implements GENERATE_SERIES(start, stop, step). Error 4199 for a step of zero.
func series(args []types.Value, t types.Type) (store.RowSource, error) {
	for _, a := range args {
		if a == nil {
			return store.ListedRows(nil), nil
		}
	}
	zero, err := types.Convert(int64(0), types.IntType, t, types.NoStyle)
	if err != nil {
		return nil, err
	}
	sign := types.Compare(args[2], zero, t)
	if sign == 0 {
		return nil, mserr.New(4199, 16,
			"Argument value %d is invalid for argument %d of generate_series function.",
			0,
			3,
		)
	}
	sum, err := types.ArithType(types.Add, t, t)
	if err != nil {
		return nil, err
	}
	return &seriesRows{start: args[0], stop: args[1], step: args[2], typ: t, sum: sum, sign: sign, next: args[0]}, nil
}

// seriesRows computes the rows of GENERATE_SERIES while they are read, so a long series needs no
// memory.
type seriesRows struct {
	start, stop, step types.Value
	typ, sum          types.Type  // type of the values, and of the sum of two values
	sign              int         // sign of step
	next              types.Value // nil after the last value of the type
	row               [1]types.Value
}

// Rewind implements [store.RowSource].
func (s *seriesRows) Rewind() { s.next = s.start }

// Next implements [store.RowSource].
func (s *seriesRows) Next() ([]types.Value, error) {
	if s.next == nil || types.Compare(s.next, s.stop, s.typ)*s.sign > 0 {
		return nil, nil
	}
	s.row[0] = s.next
	s.next = s.after(s.next)
	return s.row[:], nil
}

// after returns the value that follows v, or nil if the type has none.
func (s *seriesRows) after(v types.Value) types.Value {
	next, err := types.Arith(types.Add, v, s.typ, s.step, s.typ, s.sum)
	if err != nil {
		return nil
	}
	if next, err = types.Convert(next, s.sum, s.typ, types.NoStyle); err != nil {
		return nil
	}
	return next
}

// openJSON binds OPENJSON.
func (b *binder) openJSON(ts *syntax.OpenJSON, outer *level) (*source, error) {
	list := []syntax.Expr{ts.X}
	if ts.Path != nil {
		list = append(list, ts.Path)
	}
	args, err := b.exprs(list, outer)
	if err != nil {
		return nil, err
	}
	text := b.ofDatabase(types.NVarCharMax) // the type of value, in the collation of the JSON text
	if args[0].typ.IsCharacter() {
		text.Collation = args[0].typ.Collation
	}
	for i, a := range args {
		if args[i], err = convertImplicit(a, types.NVarCharMax); err != nil {
			return nil, err
		}
	}
	src := &source{alias: b.alias("j"), name: ts.Alias.Name}
	key := []string{keyRowset, "OPENJSON"}
	for _, c := range builtin.OpenJSONColumns {
		if c.Type == types.NVarCharMax {
			c.Type = text
		}
		src.cols = append(src.cols, sourceColumn{name: c.Name, typ: c.Type, null: c.Nullable, label: labelImplicit})
	}
	if ts.Columns != nil {
		key[1], src.cols = "OPENJSONWITH", nil
		for _, c := range ts.Columns {
			t, err := b.typeOf(c.Type, types.Named)
			if err != nil {
				return nil, err
			}
			if c.Collation != "" {
				if !t.IsCharacter() {
					return nil, mserr.New(447, 16, "Expression type %s is invalid for COLLATE clause.", typeName(t))
				}
				if t.Collation, err = b.collationNamed(c.Collation); err != nil {
					return nil, err
				}
			}
			path, asJSON := "", "0"
			if c.Path != nil {
				path = c.Path.Text
			}
			if c.AsJSON {
				asJSON = "1"
			}
			key = append(key, keyText(c.Name.Name), typeKey(t), keyText(path), asJSON)
			src.cols = append(src.cols, sourceColumn{name: c.Name.Name, typ: t, null: true, label: labelImplicit})
		}
	}
	src.rowset, err = rowset(makeKey(key...), args...)
	src.fields()
	return src, err
}

// tableFunc binds a table-valued function: built-in, inline or multi-statement. Error 208.
func (b *binder) tableFunc(ts *syntax.TableFunc, outer *level) (*source, error) {
	e := ts.Call
	var src *source
	call, ok, err := b.columnCall(e, outer)
	if err != nil {
		return nil, err
	}
	if ok {
		return b.nodesSource(call, ts.Alias, ts.Columns, outer)
	}
	if len(e.Name.Parts) == 1 {
		switch strings.ToUpper(e.Name.Last()) {
		case "STRING_SPLIT":
			src, err = b.splitSource(e, outer)
		case "GENERATE_SERIES":
			src, err = b.seriesSource(e, outer)
		default:
			src, err = b.userTable(e, outer)
		}
	} else {
		src, err = b.userTable(e, outer)
	}
	if err != nil {
		return nil, err
	}
	src.name, src.schema, src.db = ts.Alias.Name, "", ""
	if src.name == "" {
		src.name = e.Name.Last()
	}
	for i, c := range ts.Columns {
		if i >= len(src.cols) {
			return nil, mserr.FewerColumnsThanListed(src.name)
		}
		src.cols[i].name = c.Name
	}
	if ts.Columns != nil && len(ts.Columns) < len(src.cols) {
		return nil, mserr.MoreColumnsThanListed(src.name)
	}
	return src, nil
}

// splitSource binds STRING_SPLIT.
func (b *binder) splitSource(e *syntax.FuncCall, outer *level) (*source, error) {
	if n := len(e.Args); n < 2 || n > 3 {
		return nil, mserr.ArgumentRange("string_split", 2, 3)
	}
	args, err := b.exprs(e.Args, outer)
	if err != nil {
		return nil, err
	}
	t := types.Type{ID: types.VarChar, Length: args[0].typ.Length, Collation: args[0].typ.Collation}
	if args[0].typ.IsUnicode() || args[1].typ.IsUnicode() {
		t.ID = types.NVarChar
	}
	if !args[0].typ.IsCharacter() && args[0].typ.ID != types.Null {
		return nil, mserr.InvalidArgumentType(args[0].typ.Name(), 1, "string_split")
	}
	if t.Length == 0 {
		t.Length = types.Max
	}
	ordinal := false
	if len(args) == 3 {
		if args[2].op != opConst {
			return nil, mserr.NotSupported("STRING_SPLIT whose third argument is not a constant")
		}
		v, err := types.Convert(args[2].val, args[2].typ, types.BitType, types.NoStyle)
		if err != nil {
			return nil, err
		}
		ordinal = v == int64(1)
	}
	for i := range args[:2] {
		if args[i], err = convertImplicit(args[i], types.NVarCharMax); err != nil {
			return nil, err
		}
	}
	src := &source{alias: b.alias("j"), cols: []sourceColumn{{name: "value", typ: t, label: labelImplicit}}}
	if ordinal {
		src.cols = append(src.cols, sourceColumn{name: "ordinal", typ: types.BigIntType})
	}
	src.rowset, err = rowset(keyRowset+"|STRING_SPLIT", args[:2]...)
	src.fields()
	return src, err
}

// seriesSource binds GENERATE_SERIES. Error 5373 for arguments of different types.
func (b *binder) seriesSource(e *syntax.FuncCall, outer *level) (*source, error) {
	if n := len(e.Args); n < 2 || n > 3 {
		return nil, mserr.ArgumentRange("generate_series", 2, 3)
	}
	args, err := b.exprs(e.Args, outer)
	if err != nil {
		return nil, err
	}
	if len(args) == 2 {
		args = append(args, constant(int64(1), types.IntType))
		back, err := compare(">", args[0], args[1])
		if err != nil {
			return nil, err
		}
		args[2] = caseOf(
			types.IntType,
			[]*node{back},
			[]*node{constant(int64(-1), types.IntType), constant(int64(1), types.IntType)},
		)
	}
	t, _, err := unify("generate_series", args)
	if err != nil {
		return nil, err
	}
	if !t.IsInteger() && t.ID != types.Decimal {
		return nil, mserr.InvalidArgumentType(t.Name(), 1, "generate_series")
	}
	src := &source{alias: b.alias("j"), cols: []sourceColumn{{name: "value", typ: t}}}
	src.rowset, err = rowset(makeKey(keyRowset, "GENERATE_SERIES", typeKey(t)), args...)
	src.fields()
	return src, err
}

// userTable binds a user-defined table-valued function.
func (b *binder) userTable(e *syntax.FuncCall, outer *level) (*source, error) {
	if src, err := b.systemTableFunction(e, outer); src != nil || err != nil {
		return src, err
	}
	db, o, err := b.object(e.Name)
	if err != nil {
		return nil, err
	}
	switch o.(type) {
	case *catalog.Table, *catalog.View:
		return nil, mserr.NotAFunction(e.Name.String())
	}
	f, ok := o.(*catalog.Function)
	if !ok || f.Kind == catalog.KindScalarFunction {
		return nil, mserr.InvalidObject(e.Name.String())
	}
	b.needPermission(db, f, "SELECT")
	args, err := b.moduleArgs(db, f, e, outer)
	if err != nil {
		return nil, err
	}
	if f.Kind == catalog.KindInlineFunction {
		return b.inline(db, f, args)
	}
	src := &source{alias: b.alias("j")}
	for _, c := range f.Columns {
		src.cols = append(src.cols, sourceColumn{name: c.Name, typ: c.Type, null: c.Nullable, label: labelImplicit})
	}
	n := build(opLocal, types.NVarCharMax, args...)
	n.key = LocalTableFunction + strconv.Itoa(db.ID) + "|" + strconv.Itoa(int(f.ObjectID))
	n.traits |= hasLocal | canFail
	src.rowset = n
	src.fields()
	return src, nil
}

// systemTableFunction binds a table-valued function of the server, or returns nil if there is none
// of that name. Functions that begin with fn_ are found without their schema (documentation of
// sys.fn_listextendedproperty), dynamic management functions only with it.
func (b *binder) systemTableFunction(e *syntax.FuncCall, outer *level) (*source, error) {
	schema, name := catalog.Fold(e.Name.Schema()), catalog.Fold(e.Name.Last())
	if schema != "sys" && schema != "" ||
		!(strings.HasPrefix(name, "fn_") || schema == "sys" && strings.HasPrefix(name, "dm_")) {
		return nil, nil
	}
	f, err := systemRows(e.Name.Last())
	if f == nil || err != nil {
		return nil, err
	}
	db, _, err := b.objectAt("", e.Name.Database(), "sys", e.Name.Last(), 0)
	if err != nil {
		return nil, err
	}
	args, err := b.moduleArgs(db, f, e, outer)
	if err != nil {
		return nil, err
	}
	return b.inline(db, f, args)
}

// systemFunctions caches the server's functions by folded name.
var systemFunctions sync.Map

// systemRows returns the table-valued function of the server with a name, or nil.
func systemRows(name string) (*catalog.Function, error) {
	key := catalog.Fold(name)
	if f, ok := systemFunctions.Load(key); ok {
		return f.(*catalog.Function), nil
	}
	text, ok := catalog.SystemFunction(key)
	if !ok {
		return nil, nil
	}
	parsed, err := parseFunction(text, true)
	if err != nil {
		return nil, err
	}
	f := &catalog.Function{
		Header: catalog.Header{Name: key, SchemaID: catalog.SchemaSys, Kind: catalog.KindInlineFunction},
		Module: catalog.Module{Text: text, AnsiNulls: true, QuotedIdentifier: true},
	}
	for _, p := range parsed.Params {
		param := catalog.Param{Name: p.Name, Nullable: true}
		if param.Type, err = types.Named(p.Type.Name.Last(), p.Type.Args...); err != nil {
			return nil, err
		}
		if p.Default != nil {
			param.HasDefault, param.Default = true, syntax.Print(p.Default)
		}
		f.Params = append(f.Params, param)
	}
	systemFunctions.Store(key, f)
	return f, nil
}

// inline expands an inline table-valued function and replaces its parameters by the arguments.
func (b *binder) inline(db *catalog.Database, f *catalog.Function, args []*node) (src *source, err error) {
	parsed, err := f.Memo.Get(func() (any, error) { return parseFunction(f.Text, f.QuotedIdentifier) })
	if err != nil {
		return nil, err
	}
	st, ok := parsed.(*syntax.CreateFunctionStmt)
	if !ok {
		return nil, mserr.NotSupported("the function %s", f.Name)
	}
	p := b.moduleScope(db, f)
	p.params = map[string]*node{}
	for i, param := range f.Params {
		p.params[catalog.Fold(param.Name)] = args[i]
	}
	err = b.within(p, func() error {
		q, err := b.query(st.Query, nil, queryUse{ordered: true})
		if err != nil {
			return err
		}
		if q, err = nameColumns(q, f.Name, nil); err != nil {
			return err
		}
		src, err = q.rows(b.alias("q"), f.Name)
		return err
	})
	return src, err
}

// parseFunction parses the text of a CREATE FUNCTION.
func parseFunction(text string, quoted bool) (*syntax.CreateFunctionStmt, error) {
	return parseModule[*syntax.CreateFunctionStmt](text, quoted)
}
