package mserr

// Errors in data from clients: 4815 and 8016 to 8043. None of them ends the connection.
var (
	// ParameterLength: number counts from 1, token is that of the data type.
	ParameterLength = of[func(number int, name string, token byte) *Error](8016)
	ParameterValue  = of[func(number int, name, typ string) *Error](8023)
	// TableParameterLength: row and column count from 1.
	TableParameterLength = of[func(number int, name string, row, column int, token byte) *Error](8037)
	TableParameterValue  = of[func(number int, name string, row, column int, typ string) *Error](8043)
	// BulkLength: column counts from 1.
	BulkLength           = of[func(column int) *Error](4815)
	TooManyParameters    = of[func(limit int) *Error](8003)
	NoObjectOrPermission = of[func(name string) *Error](1088)
)
