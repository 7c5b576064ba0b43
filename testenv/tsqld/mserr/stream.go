package mserr

// Errors in data from clients: 4815 and 8016 to 8043. None of them ends the connection.

// ParameterLength is error 8016; number counts from 1, token is that of the data type.
func ParameterLength(number int, name string, token byte) *Error {
	return Of(8016, number, name, token)
}

// ParameterValue is error 8023.
func ParameterValue(number int, name, typ string) *Error { return Of(8023, number, name, typ) }

// TableParameterLength is error 8037; row and column count from 1.
func TableParameterLength(number int, name string, row, column int, token byte) *Error {
	return Of(8037, number, name, row, column, token)
}

// TableParameterValue is error 8043.
func TableParameterValue(number int, name string, row, column int, typ string) *Error {
	return Of(8043, number, name, row, column, typ)
}

// BulkLength is error 4815; column counts from 1.
func BulkLength(column int) *Error { return Of(4815, column) }

// TooManyParameters is error 8003.
func TooManyParameters(limit int) *Error { return Of(8003, limit) }

// NoObjectOrPermission is error 1088.
func NoObjectOrPermission(name string) *Error { return Of(1088, name) }
