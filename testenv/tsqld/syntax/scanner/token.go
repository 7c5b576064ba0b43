package scanner

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Kind is the class of a token.
type Kind uint8

// Kinds of token.
const (
	EOF      Kind = iota
	Word          // a bare word: keyword or regular identifier
	Quoted        // [x] or "x"
	String        // '...', and "..." when QUOTED_IDENTIFIER is off
	NString       // N'...'
	Int           // digits
	Decimal       // digits with a point
	Float         // digits with an exponent
	Money         // $1.5
	Binary        // 0x...
	Variable      // @x
	Global        // @@x
	Pseudo        // $x
	Operator      // operator or punctuation
)

// globals are the system functions whose names begin with @@ ("System functions", "Configuration
// functions" and "System statistical functions" in the documentation of Transact-SQL).
var globals = WordSet(`@@CONNECTIONS @@CPU_BUSY @@CURSOR_ROWS @@DATEFIRST @@DBTS @@DEF_SORTORDER_ID @@DEFAULT_LANGID
	@@ERROR @@FETCH_STATUS @@IDENTITY @@IDLE @@IO_BUSY @@LANGID @@LANGUAGE @@LOCK_TIMEOUT
	@@MAX_CONNECTIONS @@MAX_PRECISION @@MICROSOFTVERSION @@NESTLEVEL @@OPTIONS @@PACK_RECEIVED
	@@PACK_SENT @@PACKET_ERRORS @@PROCID @@REMSERVER @@ROWCOUNT @@SERVERNAME @@SERVICENAME @@SPID
	@@TEXTSIZE @@TIMETICKS @@TOTAL_ERRORS @@TOTAL_READ @@TOTAL_WRITE @@TRANCOUNT @@VERSION`)

// Token is a lexical element of a batch.
type Token struct {
	Kind  Kind
	At    syntax.Pos
	End   int32  // offset after the token
	Text  string // words and operators as written; strings, quoted names and binaries decoded
	Upper string // words in capitals; "" for other kinds
}

// Is reports whether the token is the bare word w (in capitals) or the operator w.
func (t *Token) Is(w string) bool {
	switch t.Kind {
	case Word:
		return t.Upper == w
	case Operator:
		return t.Text == w
	}
	return false
}

// IsReserved reports whether the token is a bare word that cannot be a name without quotes.
func (t *Token) IsReserved() bool { return t.Kind == Word && reserved[t.Upper] }

// IsName reports whether the token may be a name.
func (t *Token) IsName() bool { return t.Kind == Quoted || t.Kind == Word && !reserved[t.Upper] }

// IsRegular reports whether name is valid without quotes.
func IsRegular(name string) bool {
	var upper [maxReserved]byte
	if !IsWord(name) || len(name) > len(upper) {
		return IsWord(name)
	}
	for i := range len(name) {
		upper[i] = upperByte(name[i])
	}
	return !reserved[string(upper[:len(name)])]
}

// maxReserved is the length of the longest reserved word, CURRENT_TIMESTAMP.
const maxReserved = 17

// reserved are the words that cannot be names without quotes: the first table of "Reserved keywords
// (Transact-SQL)" in the documentation, without the words that SQL Server accepts as names
// nevertheless.
var reserved = WordSet(`ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY
	CASCADE CASE CHECK CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS
	CONTAINSTABLE CONTINUE CONVERT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER
	CURSOR DATABASE DBCC DEALLOCATE DECLARE DEFAULT DELETE DENY DESC DISTINCT DISTRIBUTED DOUBLE DROP ELSE END
	ERRLVL ESCAPE EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH FILE FILLFACTOR FOR FOREIGN FREETEXT
	FREETEXTTABLE FROM FULL FUNCTION GOTO GRANT GROUP HAVING HOLDLOCK IDENTITY IDENTITY_INSERT IDENTITYCOL IF IN
	INDEX INNER INSERT INTERSECT INTO IS JOIN KEY KILL LEFT LIKE LINENO MERGE NATIONAL NOCHECK NONCLUSTERED NOT
	NULL NULLIF OF OFF OFFSETS ON OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML OPTION OR ORDER OUTER OVER
	PERCENT PIVOT PLAN PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT RECONFIGURE REFERENCES
	REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE SCHEMA SELECT
	SESSION_USER SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE TABLESAMPLE TEXTSIZE THEN TO TOP TRAN
	TRANSACTION TRIGGER TRUNCATE TRY_CONVERT TSEQUAL UNION UNIQUE UNPIVOT UPDATE UPDATETEXT USE USER VALUES
	VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WRITETEXT`)
