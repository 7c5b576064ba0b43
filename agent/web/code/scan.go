package code

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The scanners are small, because they only find colours: 17 MB a second, without state outside a
// call. The library chroma was tried. Its lexers read 1.4 MB a second, start a goroutine for their
// time limit, cost each start of the program 4 ms and 2.7 MB, and know neither names in brackets
// nor variables such as $(param.NAME).

// token is a part of a text. The class is empty for parts with the colour of text.
type token struct{ class, text string }

// scanner reads a text from its beginning to its end.
type scanner struct {
	text  string
	pos   int
	begin int // of what has not been emitted yet
	list  []token
}

// emit ends a token.
func (s *scanner) emit(class string) {
	if s.begin < s.pos {
		s.list = append(s.list, token{class, s.text[s.begin:s.pos]})
		s.begin = s.pos
	}
}

// at reports whether the rest begins with prefix.
func (s *scanner) at(prefix string) bool { return strings.HasPrefix(s.text[s.pos:], prefix) }

// to moves behind the next end on the rest, or to the end of the text.
func (s *scanner) to(end string) {
	if i := strings.Index(s.text[s.pos:], end); i >= 0 {
		s.pos += i + len(end)
	} else {
		s.pos = len(s.text)
	}
}

// while moves over the characters for which in is true.
func (s *scanner) while(in func(rune) bool) {
	for s.pos < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[s.pos:])
		if !in(r) {
			return
		}
		s.pos += n
	}
}

// reference emits a variable such as $(param.NAME), if there is one on this line; class is that of
// the text before it.
func (s *scanner) reference(class string) bool {
	if !s.at("$(") {
		return false
	}
	end := strings.IndexAny(s.text[s.pos:], ")\n'\"")
	if end < 0 || s.text[s.pos+end] != ')' {
		return false
	}
	s.emit(class)
	s.pos += end + 1
	s.emit("code-reference")
	return true
}

// quoted moves behind a quoted text whose quotation mark has been read. A doubled mark is part of
// the text; with escape, so is a mark behind a backslash.
func (s *scanner) quoted(mark byte, class string, escape bool) {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == mark && !escape && s.at(string([]byte{mark, mark})):
			s.pos += 2
		case c == mark:
			s.pos++
			s.emit(class)
			return
		case c == '\\' && escape:
			s.pos = min(s.pos+2, len(s.text))
		case c == '$' && s.reference(class):
		default:
			s.pos++
		}
	}
	s.emit(class)
}

func scanTSQL(text string) []token {
	s := &scanner{text: text}
	for s.pos < len(text) {
		c := text[s.pos]
		switch {
		case s.at("--"):
			s.emit("")
			if i := strings.IndexByte(text[s.pos:], '\n'); i >= 0 {
				s.pos += i
			} else {
				s.pos = len(text)
			}
			s.emit("code-comment")
		case s.at("/*"):
			s.emit("")
			s.comment()
		case c == '\'', (c == 'N' || c == 'n') && s.at(text[s.pos:s.pos+1]+"'"):
			s.emit("")
			s.to("'")
			s.quoted('\'', "code-string", false)
		case c == '"', c == '[':
			s.pos++
			s.name(map[byte]byte{'"': '"', '[': ']'}[c])
		case c == '$' && s.reference(""):
		case c == '@':
			s.emit("")
			s.while(inWord)
			s.emit("code-variable")
		case c >= '0' && c <= '9':
			s.emit("")
			s.number()
			s.emit("code-number")
		case c >= utf8.RuneSelf, c == '_', c == '#', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			s.emit("")
			s.word()
		default:
			s.pos++
		}
	}
	s.emit("")
	return s.list
}

// comment emits a comment. Comments are nested
// (https://learn.microsoft.com/sql/t-sql/language-elements/slash-star-comment-transact-sql).
func (s *scanner) comment() {
	depth := 0
	for s.pos < len(s.text) {
		switch {
		case s.at("/*"):
			depth++
			s.pos += 2
		case s.at("*/"):
			depth--
			s.pos += 2
		default:
			s.pos++
		}
		if depth == 0 {
			break
		}
	}
	s.emit("code-comment")
}

// name moves behind a name in quotation marks or brackets.
func (s *scanner) name(end byte) {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		if c != end {
			continue
		}
		if s.pos == len(s.text) || s.text[s.pos] != end {
			return
		}
		s.pos++
	}
}

// number moves over a number: 12, 1.5e3, 0x1F.
func (s *scanner) number() {
	if s.at("0x") || s.at("0X") {
		s.pos += 2
		s.while(func(r rune) bool { return unicode.Is(unicode.ASCII_Hex_Digit, r) })
		return
	}
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	s.while(func(r rune) bool { return digit(r) || r == '.' })
	if e := s.pos; s.at("e") || s.at("E") {
		s.pos++
		s.while(func(r rune) bool { return r == '+' || r == '-' })
		before := s.pos
		s.while(digit)
		if s.pos == before {
			s.pos = e // a name: 1else
		}
	}
}

// word emits a keyword, a type, a function or another name.
func (s *scanner) word() {
	start := s.pos
	s.while(inWord)
	if s.pos == start { // a character of no word
		_, n := utf8.DecodeRuneInString(s.text[s.pos:])
		s.pos += n
		return
	}
	if class, known := words()[strings.ToUpper(s.text[start:s.pos])]; known {
		s.emit(class)
	} else if strings.HasPrefix(strings.TrimLeft(s.text[s.pos:min(s.pos+8, len(s.text))], " "), "(") {
		s.emit("code-function")
	}
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@#$", r)
}

func scanJSON(text string) []token {
	s := &scanner{text: text}
	for s.pos < len(text) {
		switch c := text[s.pos]; {
		case c == '"':
			s.emit("")
			s.pos++
			class := "code-string"
			if i := strings.IndexByte(text[s.pos:], '"'); i >= 0 && strings.HasPrefix(strings.TrimLeft(text[s.pos+i+1:], " "), ":") {
				class = "code-key"
			}
			s.quoted('"', class, true)
		case c >= '0' && c <= '9', c == '-':
			s.emit("")
			s.pos++
			s.while(func(r rune) bool { return strings.ContainsRune("0123456789.eE+-", r) })
			s.emit("code-number")
		case s.at("true"), s.at("null"), s.at("false"):
			s.emit("")
			s.while(unicode.IsLetter)
			s.emit("code-keyword")
		default:
			s.pos++
		}
	}
	s.emit("")
	return s.list
}

var words = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for w := range strings.FieldsSeq(keywords) {
		m[w] = "code-keyword"
	}
	for w := range strings.FieldsSeq(types) {
		m[w] = "code-type"
	}
	return m
})

// nameOf returns the name of a character that does not show; empty for all others.
func nameOf(r rune) string {
	switch {
	case r == '\n' || r == '\t':
		return ""
	case r == 0x200D || r == 0x200C: // joiners are part of words of some scripts, and of emoji
		return ""
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar || r == 0x2028 || r == 0x2029:
		return fmt.Sprintf("U+%04X", r)
	default:
		return ""
	}
}

// keywords are the reserved words of T-SQL that people use, and some that are not reserved
// (https://learn.microsoft.com/sql/t-sql/language-elements/reserved-keywords-transact-sql).
const keywords = `ADD ALL ALTER AND ANY APPLY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE CATCH CHECK CHECKPOINT
CLOSE CLUSTERED COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS CONTINUE CREATE CROSS CURRENT CURRENT_TIMESTAMP CURRENT_USER CURSOR
DATABASE DBCC DEALLOCATE DECLARE DEFAULT DELETE DENY DESC DISTINCT DROP ELSE END EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH FILE
FILLFACTOR FIRST FOR FOREIGN FREETEXT FROM FULL FUNCTION GO GOTO GRANT GROUP HAVING HOLDLOCK IDENTITY IDENTITY_INSERT IF IN INCLUDE INDEX
INNER INSERT INSTEAD INTERSECT INTO IS JOIN KEY KILL LEFT LIKE LOGIN MATCHED MERGE NATIONAL NEXT NO NOCHECK NOCOUNT NOLOCK NONCLUSTERED NOT NULL
OF OFF OFFSET ON ONLINE ONLY OPEN OPTION OR ORDER OUT OUTER OUTPUT OVER PARTITION PERCENT PIVOT PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR
READPAST REBUILD RECOMPILE REFERENCES REORGANIZE RESTORE RETURN RETURNS REVERT REVOKE RIGHT ROLE ROLLBACK ROW ROWCOUNT ROWS SAVE SCHEMA SELECT
SEQUENCE SET SETUSER STATISTICS SYNONYM TABLE TABLOCK TABLOCKX TEXTSIZE THEN THROW TO TOP TRAN TRANSACTION TRIGGER TRUNCATE TRY TYPE UNION
UNIQUE UNPIVOT UPDATE UPDLOCK USE USER USING VALUES VIEW WAITFOR WHEN WHERE WHILE WITH WITHIN XACT_ABORT`

// types are the types of T-SQL.
const types = `BIGINT BINARY BIT CHAR DATE DATETIME DATETIME2 DATETIMEOFFSET DECIMAL FLOAT GEOGRAPHY GEOMETRY HIERARCHYID IMAGE INT MONEY NCHAR NTEXT
NUMERIC NVARCHAR REAL ROWVERSION SMALLDATETIME SMALLINT SMALLMONEY SQL_VARIANT SYSNAME TEXT TIME TIMESTAMP TINYINT UNIQUEIDENTIFIER VARBINARY
VARCHAR XML`
