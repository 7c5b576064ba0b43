package hostile

// Stream is an answer of one packet that no SQL Server sends.
type Stream struct {
	// Name is the name of the token and of its defect.
	Name string
	// Login marks an answer to the login. Other answers are to a script.
	Login bool
	// Answer are the tokens.
	Answer []byte
}

// Streams returns an answer for each length, count and index that go-mssqldb v1.11.2 reads from the
// network and uses for an allocation, a slice or a loop, and for each token that the driver does
// not know.
func Streams() []Stream {
	const many = 0xFFFFFFFF
	end := Done(0, 0)
	row := func(columns []byte, value ...any) []byte { return join(columns, 0xD1, join(value...), end) }
	image := func(size uint32) []byte {
		return row(column(0x22, uint32(0x7FFFFFFF), 0), 16, make([]byte, 16+8), size)
	}
	variant := func(size uint32, typ byte, props ...any) []byte {
		p := join(props...)
		return row(column(0x62, uint32(8009)), size, typ, len(p), p, make([]byte, 32))
	}
	nbc := func(columns int) []byte { return join(Ints(columns), 0xD2, make([]byte, 4*columns+columns/8), end) }
	streams := []Stream{
		// token.go, parseFedAuthInfo
		{"FEDAUTHINFO of 4 G options in 8 bytes", true, join(0xEE, uint32(8), uint32(many), uint32(0))},
		{"FEDAUTHINFO of no bytes", true, join(0xEE, uint32(0), uint32(0), end)},
		{"FEDAUTHINFO of 4 GB", true, join(0xEE, uint32(many), uint32(1), 1, uint32(4), uint32(13), end)},
		{"FEDAUTHINFO with an option outside of it", true, join(0xEE, uint32(17), uint32(1), 1, uint32(0x20), uint32(0xFFFFFFF0), "ab", end)},
		{"FEDAUTHINFO with an option before its data", true, join(0xEE, uint32(17), uint32(1), 1, uint32(4), uint32(4), "ab", end)},
		{"FEDAUTHINFO with an option of half a character", true, join(0xEE, uint32(17), uint32(1), 1, uint32(3), uint32(13), "ab", end)},
		{"FEDAUTHINFO with an unknown option", true, join(0xEE, uint32(17), uint32(1), 9, uint32(4), uint32(13), "ab", end)},
		{"FEDAUTHINFO after the login", false, join(0xEE, uint32(4), uint32(0), end)},
		// parseLoginAck
		{"LOGINACK of no bytes", true, join(0xAD, uint16(0), end)},
		{"LOGINACK of two bytes", true, join(0xAD, uint16(2), 1, 2, end)},
		{"LOGINACK with a name that overflows a byte", true, join(0xAD, uint16(10+2*200), 1, []byte{0x74, 0, 0, 4}, 200, make([]byte, 404), end)},
		{"LOGINACK after the login", false, join(loginAck, end)},
		// parseFeatureExtAck, readCekTable
		{"FEATUREEXTACK of 4 GB", true, join(0xAE, 8, uint32(many), end)},
		{"FEATUREEXTACK of column encryption without its version", true, join(0xAE, 4, uint32(0), 0xFF, end)},
		{"FEATUREEXTACK of column encryption", true, join(loginAck, 0xAE, 4, uint32(1), 1, 0xFF, end)},
		{"FEATUREEXTACK after the login", false, join(0xAE, 0xFF, end)},
		// parseSSPIMsg: the driver's authenticator is nil
		{"SSPI that was not asked for", true, join(0xED, uint16(4), uint32(0))},
		{"SSPI after the login", false, join(0xED, uint16(0xFFFF))},
		// processEnvChg
		{"ENVCHANGE of a packet size of 8", false, join(env(4, 1, "8", 4, "4096"), end)},
		{"ENVCHANGE of a packet size of 0", false, join(env(4, 1, "0", 0), end)},
		{"ENVCHANGE of a packet size of 65536", false, join(env(4, 5, "65536", 4, "4096"), end)},
		{"ENVCHANGE of a packet size below zero", false, join(env(4, 2, "-1", 4, "4096"), end)},
		{"ENVCHANGE of a packet size without digits", false, join(env(4, 0, 0), end)},
		{"ENVCHANGE of a packet size of 255 digits", false, join(env(4, 255, make([]byte, 510), 0), end)},
		{"ENVCHANGE with a text beyond its end", false, join(0xE3, uint16(4), 1, 200, "d", end, make([]byte, 500))},
		{"ENVCHANGE with a second text beyond its end", false, join(0xE3, uint16(5), 1, 1, "d", 200, end, make([]byte, 500))},
		{"ENVCHANGE of a type that the driver does not skip", false, join(env(14, make([]byte, 40)), end)},
		{"ENVCHANGE with a collation of 200 bytes", false, join(env(7, 200, make([]byte, 201)), end)},
		{"ENVCHANGE with a transaction of one byte", false, join(env(8, 1, 1, 0), end)},
		{"ENVCHANGE that routes by another protocol", true, join(loginAck, env(20, uint16(9), 1, uint16(1433), uint16(1), "h", uint16(0)), end)},
		{"ENVCHANGE that routes to a name of 128 KB", true, join(env(20, uint16(9), 0, uint16(1433), uint16(0xFFFF)), make([]byte, 3000), end)},
		// parseError72, parseInfo: they ignore the length
		{"INFO whose length is too small", false, join(0xAB, uint16(8), uint32(1), 1, 1, uint16(20), make([]byte, 60), end)},
		{"INFO whose length is too large", false, join(0xAB, uint16(400), uint32(1), 1, 1, uint16(0), 0, 0, uint32(1), end, make([]byte, 500))},
		{"ERROR with a text of 128 KB", false, join(0xAA, uint16(16), uint32(1), 1, 16, uint16(0xFFFF), make([]byte, 3000), end)},
		{"ERROR with a procedure beyond its end", false, join(0xAA, uint16(16), uint32(1), 1, 16, uint16(0), 0, 255, make([]byte, 3000), end)},
		// parseOrder
		{"ORDER of 32767 columns", false, join(Ints(1), 0xA9, uint16(0xFFFE), end)},
		// parseColMetadata72, readTypeInfo
		{"COLMETADATA of 65534 columns", false, join(0x81, uint16(65534), make([]byte, 3000), end)},
		{"COLMETADATA of 4097 columns", false, join(0x81, uint16(4097), make([]byte, 3000), end)},
		{"COLMETADATA of no columns", false, join(0x81, uint16(0), end)},
		{"COLMETADATA that says nothing", false, join(0x81, uint16(0xFFFF), end)},
		{"COLMETADATA of an encrypted column", false, join(0x81, uint16(1), uint32(0), uint16(0x800), 0x38, 0, end)},
		{"COLMETADATA of an unknown type", false, join(column(0x00), end)},
		{"COLMETADATA of a type of SQL Server 6", false, join(column(0x2F, 255), end)},
		{"COLMETADATA of NULLTYPE", false, join(column(0x1F), end)},
		{"COLMETADATA of a table", false, join(column(0xF3, make([]byte, 20)), end)},
		{"COLMETADATA of INTN of 3 bytes", false, join(column(0x26, 3), end)},
		{"COLMETADATA of BITN of 8 bytes", false, join(column(0x68, 8), end)},
		{"COLMETADATA of FLTN of no bytes", false, join(column(0x6D, 0), end)},
		{"COLMETADATA of MONEYN of 255 bytes", false, join(column(0x6E, 255), end)},
		{"COLMETADATA of DATETIMEN of 6 bytes", false, join(column(0x6F, 6), end)},
		{"COLMETADATA of a GUID of 255 bytes", false, join(column(0x24, 255), end)},
		{"COLMETADATA of DECIMALN of 255 bytes", false, join(column(0x6A, 255, 38, 0), end)},
		{"COLMETADATA of DECIMALN with a scale of 255", false, join(column(0x6A, 17, 38, 255), end)},
		{"COLMETADATA of TIMEN with a scale of 8", false, join(column(0x29, 8), end)},
		{"COLMETADATA of VARCHAR(65534)", false, join(column(0xA7, uint16(0xFFFE), make([]byte, 5)), end)},
		{"COLMETADATA of BINARY(MAX)", false, join(column(0xAD, uint16(0xFFFF)), end)},
		{"COLMETADATA of a CLR type of 65534 bytes", false, join(column(0xF0, uint16(0xFFFE), 0, 0, 0, uint16(0)), end)},
		{"COLMETADATA of a CLR type with a name of 128 KB", false, join(column(0xF0, uint16(0xFFFF), 0, 0, 0, uint16(0xFFFF)), make([]byte, 3000), end)},
		{"COLMETADATA of XML with a schema's name of 128 KB", false, join(column(0xF1, 1, 0, 0, uint16(0xFFFF)), make([]byte, 3000), end)},
		{"COLMETADATA of XML of an unknown kind", false, join(column(0xF1, 7), end)},
		{"COLMETADATA of TEXT with a table's name of 128 KB", false, join(column(0x23, uint32(many), make([]byte, 5), 1, uint16(0xFFFF)), make([]byte, 3000), end)},
		{"COLMETADATA of a sql_variant of 2 GB", false, join(column(0x62, uint32(0x7FFFFFFF)), end)},
		// processSingleResponse, parseRow, parseNbcRow: rows use the preceding columns
		{"ROW without COLMETADATA", false, join(IntRow(1), end)},
		{"NBCROW without COLMETADATA", false, join(0xD2, 0, end)},
		{"NBCROW that ends in its bitmap", false, nbc(400)[:3+10*400+1+20]},
		// readByteLenType
		{"INTN of 8 bytes in a column of 4", false, row(column(0x26, 4), 8, uint64(1))},
		{"INTN of 3 bytes", false, row(column(0x26, 4), 3, 1, 2, 3)},
		{"DECIMALN of 16 bytes", false, row(column(0x6A, 17, 38, 0), 16, make([]byte, 16))},
		{"DATEN of 255 bytes", false, row(column(0x28), 255, make([]byte, 255))},
		{"DATETIME2N of 3 bytes", false, row(column(0x2A, 7), 3, make([]byte, 3))},
		{"GUID of 15 bytes", false, row(column(0x24, 16), 15, make([]byte, 15))},
		// readShortLenType
		{"VARCHAR of 65534 bytes in a column of 10", false, row(column(0xA7, uint16(10), make([]byte, 5)), uint16(0xFFFE), make([]byte, 100))},
		{"VARBINARY of 11 bytes in a column of 10", false, row(column(0xA5, uint16(10)), uint16(11), make([]byte, 11))},
		{"NVARCHAR of 3 bytes", false, row(column(0xE7, uint16(10), make([]byte, 5)), uint16(3), make([]byte, 3))},
		// readLongLenType
		{"IMAGE of less than no bytes", false, image(0xFFFFFF00)},
		{"NTEXT of 3 bytes", false, row(column(0x63, uint32(0x7FFFFFFE), make([]byte, 5), 0), 16, make([]byte, 24), uint32(3), 1, 2, 3)},
		// readPLPType
		{"a (max) value of 2^60 bytes", false, row(maxText, uint64(1)<<60)},
		{"a (max) value of less than it announces", false, row(maxText, uint64(100), uint32(2), "a", uint32(0))},
		{"a (max) value of more than it announces", false, row(maxText, uint64(2), uint32(4), "ab", uint32(0))},
		{"a (max) value of half a character", false, row(maxText, unknownLength, uint32(3), 1, 2, 3, uint32(0))},
		{"a (max) value with a chunk of 4 GB", false, row(maxText, unknownLength, uint32(many), "ab")},
		// readVariantType
		{"a sql_variant of 2 GB", false, variant(0x7FFFFFFF, 0x24)},
		{"a sql_variant of less than no bytes", false, variant(0xFFFFFFF0, 0x24)},
		{"a sql_variant of one byte", false, variant(1, 0x24)},
		{"a sql_variant of more properties than bytes", false, variant(4, 0xA5, uint16(8), uint32(0))},
		{"a sql_variant INT of 9 bytes", false, variant(11, 0x38)},
		{"a sql_variant DATETIME of 2 bytes", false, variant(4, 0x3D)},
		{"a sql_variant DATETIME2 without a time", false, variant(5, 0x2A, 7)},
		{"a sql_variant of an unknown type", false, variant(6, 0xF1)},
		{"a sql_variant DECIMAL of 200 bytes", false, variant(204, 0x6A, 38, 0)},
		{"a sql_variant MONEY of no bytes", false, variant(2, 0x3C)},
		// parseReturnValue
		{"RETURNVALUE of 2 GB", false, join(0xAC, uint16(0), 1, "@", 1, uint32(0), uint16(0), 0xA5, uint16(0xFFFF), uint64(1)<<60, end)},
		{"RETURNVALUE of an encrypted value", false, join(0xAC, uint16(0), 0, 1, uint32(0), uint16(0x800), 0x38, uint32(0), end)},
		{"RETURNVALUE of an unknown type", false, join(0xAC, uint16(0), 0, 1, uint32(0), uint16(0), 0x2F, 4, end)},
		// the end of an answer
		{"an answer without a last DONE", false, join(Ints(1), IntRow(1), Done(1, 0))},
		{"an answer that ends in a token", false, join(Ints(1), 0xD1, 0)},
		// tokens that do not belong to the answer to a login
		{"COLMETADATA in the answer to the login", true, join(Ints(1), IntRow(1), end)},
	}
	for _, t := range []struct {
		token byte
		name  string
	}{
		{0x88, "ALTMETADATA"}, {0xD3, "ALTROW"}, {0xA3, "DATACLASSIFICATION"}, {0xE4, "SESSIONSTATE"}, {0x78, "OFFSET"}, {0x00, "an unknown token"},
	} {
		streams = append(streams, Stream{t.name, false, join(t.token, make([]byte, 40), end)})
	}
	return streams
}
