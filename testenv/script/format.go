package script

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
)

// letters maps the driver's names of types to the letters of columns.
var letters = map[string]byte{
	"BIT": 'I', "TINYINT": 'I', "SMALLINT": 'I', "INT": 'I', "BIGINT": 'I',
	"REAL": 'R', "FLOAT": 'R', "DECIMAL": 'R', "MONEY": 'R', "SMALLMONEY": 'R',
	"CHAR": 'T', "VARCHAR": 'T', "TEXT": 'T', "NCHAR": 'T', "NVARCHAR": 'T', "NTEXT": 'T', "XML": 'T',
	"DATE": 'D', "TIME": 'D', "DATETIME": 'D', "DATETIME2": 'D', "SMALLDATETIME": 'D', "DATETIMEOFFSET": 'D',
	"UNIQUEIDENTIFIER": 'G', "BINARY": 'B', "VARBINARY": 'B', "IMAGE": 'B', "SQL_VARIANT": 'V',
}

// layouts are how dates and times are written, by the driver's names of their types.
var layouts = map[string]string{
	"DATE": "2006-01-02", "TIME": "15:04:05.9999999", "DATETIMEOFFSET": "2006-01-02T15:04:05.9999999Z07:00",
}

// escapes are the characters that a value may not have as they are.
var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "|", `\|`)

// format writes a value of a column whose type the driver calls typeName.
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
		return formatText(v), nil
	case time.Time:
		layout, ok := layouts[typeName]
		if !ok {
			layout = "2006-01-02T15:04:05.9999999"
		}
		return v.Format(layout), nil
	case []byte:
		switch letters[typeName] {
		case 'G':
			var id mssqldb.UniqueIdentifier
			if err := id.Scan(v); err != nil {
				return "", err
			}
			return id.String(), nil
		case 'R', 'T':
			return formatText(string(v)), nil
		default:
			return "0x" + strings.ToUpper(hex.EncodeToString(v)), nil
		}
	default:
		return "", fmt.Errorf("the driver returned a %T for a %s", v, typeName)
	}
}

// formatText escapes a text.
func formatText(s string) string {
	if s == "" {
		return "(empty)"
	}
	return escapes.Replace(s)
}
