package keys

import (
	"encoding/hex"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The keys of rowsets.
const (
	TableFunction = "rs"     // name|...: the rows of a table-valued function
	Decode        = "decode" // the rows of a text encoded by EncodeRows
	Packed        = "packed" // prefix of another key, with '|': each row as one field, for more columns than rowset(...) has
)

// RowsFunc returns the function of a rowset key.
func RowsFunc(key string) (store.RowsFunc, error) {
	if rest, ok := strings.CutPrefix(key, Packed+"|"); ok {
		f, err := RowsFunc(rest)
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
	r := &reader{key: key, part: parts[1:]}
	var f store.RowsFunc
	switch parts[0] {
	case TableFunction:
		f = rowsFunc(r)
	case Decode:
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
