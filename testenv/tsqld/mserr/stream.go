package mserr

// Errors in data from clients: 4815 and 8016 to 8043. None of them ends the connection.

// ParameterLength is error 8016; number counts from 1, token is that of the data type.
func ParameterLength(number int, name string, token byte) *Error {
	return New(8016, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) "+
		"protocol stream is incorrect. Parameter %d (\"%s\"): Data type 0x%02X has an invalid data "+
		"length or metadata length.", number, name, token)
}

// ParameterValue is error 8023.
func ParameterValue(number int, name, typ string) *Error {
	return New(8023, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) "+
		"protocol stream is incorrect. Parameter %d (\"%s\"): The supplied value is not a valid "+
		"instance of data type %s. Check the source data for invalid values. An example of an "+
		"invalid value is data of numeric type with scale greater than precision.", number, name, typ)
}

// TableParameterLength is error 8037; row and column count from 1.
func TableParameterLength(number int, name string, row, column int, token byte) *Error {
	return New(8037, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Table-valued parameter %d (\"%s\"), row %d, column %d: Data type 0x%02X has an invalid data length or metadata length.",
		number, name, row, column, token)
}

// TableParameterValue is error 8043.
func TableParameterValue(number int, name string, row, column int, typ string) *Error {
	return New(8043, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) "+
		"protocol stream is incorrect. Table-valued parameter %d (\"%s\"), row %d, column %d: The "+
		"supplied value is not a valid instance of data type %s. Check the source data for invalid "+
		"values. An example of an invalid value is data of numeric type with scale greater than "+
		"precision.", number, name, row, column, typ)
}

// BulkLength is error 4815; column counts from 1.
func BulkLength(column int) *Error {
	return New(4815, 16, "Received an invalid column length from the bcp client for colid %d.", column)
}

// TooManyParameters is error 8003.
func TooManyParameters(limit int) *Error {
	return New(8003, 16, "The incoming request has too many parameters. The server supports a "+
		"maximum of %d parameters. Reduce the number of parameters and resend the request.", limit)
}

// NoObjectOrPermission is error 1088.
func NoObjectOrPermission(name string) *Error {
	return New(1088, 16, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", name)
}
