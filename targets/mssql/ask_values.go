package mssql

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs/jsontree"
)

// Kind is the kind of a column's values, for a reader that does not distinguish the types of SQL
// Server. Columns of one kind can be in one column of a table.
type Kind string

// The kinds.
const (
	KindNumber Kind = "number"
	KindBit    Kind = "bit"
	KindText   Kind = "text"
	KindTime   Kind = "time"
	KindBytes  Kind = "bytes"
)

// Kind returns the kind of a column's values. An sql_variant is a text, because each value may have
// another type.
func (c Column) Kind() Kind {
	switch c.Type {
	case "TINYINT", "SMALLINT", "INT", "BIGINT", "REAL", "FLOAT", "DECIMAL", "NUMERIC", "MONEY", "SMALLMONEY":
		return KindNumber
	case "BIT":
		return KindBit
	case "DATE", "TIME", "SMALLDATETIME", "DATETIME", "DATETIME2", "DATETIMEOFFSET":
		return KindTime
	case "UNIQUEIDENTIFIER", "CHAR", "VARCHAR", "TEXT", "NCHAR", "NVARCHAR", "NTEXT", "XML", "SQL_VARIANT", "JSON":
		return KindText
	}
	return KindBytes
}

// digits matches the digits of a decimal, which the driver reads as bytes.
var digits = regexp.MustCompile(`^-?[0-9]{1,38}(\.[0-9]{1,38})?$`)

// Text returns a value that is not NULL in the form of query windows: a bit as 1 or 0, bytes in
// hexadecimal digits after 0x. Texts are returned unchanged.
func (c Column) Text(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case float64:
		if c.Type == "REAL" {
			return strconv.FormatFloat(v, 'g', -1, 32)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(c.layout(" "))
	case []byte:
		return c.bytes(v)
	}
	return fmt.Sprint(v)
}

// bytes returns the text of a value that the driver reads as bytes.
func (c Column) bytes(v []byte) string {
	switch c.Type {
	case "DECIMAL", "NUMERIC", "MONEY", "SMALLMONEY", "TEXT", "NTEXT", "XML", "JSON":
		return string(v)
	case "SQL_VARIANT": // the client cannot see the type of the value
		if digits.Match(v) {
			return string(v)
		}
	case "UNIQUEIDENTIFIER":
		var id mssqldb.UniqueIdentifier
		if id.Scan(v) == nil {
			return id.String()
		}
	}
	return "0x" + strings.ToUpper(hex.EncodeToString(v))
}

// layout returns the form of a time for [time.Time.Format], with the decimals of the type.
func (c Column) layout(between string) string {
	decimals := ""
	switch {
	case c.Type == "DATETIME":
		decimals = ".000"
	case c.Scale > 0 && c.Scale <= 9:
		decimals = "." + strings.Repeat("0", int(c.Scale))
	}
	const day, clock = "2006-01-02", "15:04:05"
	switch c.Type {
	case "DATE":
		return day
	case "TIME":
		return clock + decimals
	case "DATETIMEOFFSET":
		if between == "T" {
			return day + between + clock + decimals + "Z07:00"
		}
		return day + between + clock + decimals + " -07:00"
	case "SQL_VARIANT":
		return day + between + clock + ".999999999"
	}
	return day + between + clock + decimals
}

// AppendJSON appends a value in the form of FOR JSON: numbers as numbers, a bit as true or false,
// times in ISO 8601. Bytes are in hexadecimal digits, as in Text.
func (c Column) AppendJSON(to []byte, v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(to, "null"...)
	case int64:
		return strconv.AppendInt(to, v, 10)
	case bool:
		return strconv.AppendBool(to, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) { // SQL Server has no such value
			return append(to, "null"...)
		}
		bits := 64
		if c.Type == "REAL" {
			bits = 32
		}
		return strconv.AppendFloat(to, v, 'g', -1, bits)
	case time.Time:
		return append(v.AppendFormat(append(to, '"'), c.layout("T")), '"')
	case string:
		return append(to, jsontree.Quote(v)...)
	case []byte:
		if c.Kind() == KindNumber && digits.Match(v) {
			return append(to, v...)
		}
	}
	return append(to, jsontree.Quote(c.Text(v))...)
}
