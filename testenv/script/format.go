package script

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
)

// letters maps the names of types to the letters of columns.
var letters = map[string]byte{
	"bit": 'I', "tinyint": 'I', "smallint": 'I', "int": 'I', "bigint": 'I',
	"real": 'R', "float": 'R', "decimal": 'R', "money": 'R', "smallmoney": 'R',
	"char": 'T', "varchar": 'T', "text": 'T', "nchar": 'T', "nvarchar": 'T', "ntext": 'T', "xml": 'T',
	"date": 'D', "time": 'D', "datetime": 'D', "datetime2": 'D', "smalldatetime": 'D', "datetimeoffset": 'D',
	"uniqueidentifier": 'G', "binary": 'B', "varbinary": 'B', "image": 'B', "sql_variant": 'V',
}

// layouts are the layouts of dates and times, by the driver's names of their types.
var layouts = map[string]string{
	"DATE": "2006-01-02", "TIME": "15:04:05.9999999", "DATETIMEOFFSET": "2006-01-02T15:04:05.9999999Z07:00",
}

// escapes maps the characters that a value cannot contain to their escaped form.
var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "|", `\|`)

// format formats a value of a column. typeName is the driver's name of the column's type.
func format(v any, typeName string) (string, error) {
	switch v := v.(type) {
	case nil:
		return "NULL", nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		bits := 64
		if typeName == "REAL" {
			bits = 32
		}
		return strconv.FormatFloat(v, 'g', -1, bits), nil
	case string:
		return Escape(v), nil
	case time.Time:
		layout, ok := layouts[typeName]
		if !ok {
			layout = "2006-01-02T15:04:05.9999999"
		}
		return v.Format(layout), nil
	case []byte:
		switch letters[strings.ToLower(typeName)] {
		case 'G':
			var id mssqldb.UniqueIdentifier
			if err := id.Scan(v); err != nil {
				return "", err
			}
			return id.String(), nil
		case 'R', 'T':
			return Escape(string(v)), nil
		default:
			return "0x" + strings.ToUpper(hex.EncodeToString(v)), nil
		}
	default:
		return "", fmt.Errorf("the driver returned a %T for a %s", v, typeName)
	}
}

// Escape returns a text as scripts contain it.
func Escape(s string) string {
	if s == "" {
		return "(empty)"
	}
	return escapes.Replace(s)
}
