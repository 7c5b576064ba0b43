package yamltext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a text. They are above what people write. The parser takes about 500 bytes of memory
// for a token, and time that grows with the square of some of these numbers.
const (
	// MaxText is the length of a text, in bytes. JSON may be longer: its parser needs less.
	MaxText = 4 << 20
	// MaxKeys is the number of keys in one mapping.
	MaxKeys = 1_000
	// maxTokens is the number of tokens of a text: a group of 16,000 members.
	maxTokens = 200_000
	// maxMarks is the number of characters of a text that may begin or end a token, within scalars
	// too. It bounds the tokens before there are any; each mark has at most two.
	maxMarks = 400_000
	// maxEntries is the number of entries of lists that begin on one line: "- - a" has two.
	maxEntries = 20
	// maxEmptyLines is the number of empty lines in a row, times the length of the text. For each
	// empty line at the end of a block, the scanner copies the block.
	maxEmptyLines = 20_000_000
	// maxEmpty is the number of entries and keys without a value.
	maxEmpty = 20_000
	// MaxMerged is the number of keys that << copies into the mappings of a document.
	MaxMerged = 100_000
	// maxDocuments is the number of documents of a text.
	maxDocuments = 2_000
	// maxValues is the number of values and keys that Decode returns, and maxTexts the length of
	// their texts in bytes, those that aliases repeat included.
	maxValues, maxTexts = 250_000, 16 << 20
)

// Error is an error with a place in the text.
type Error struct {
	// Line and Col count from 1.
	Line, Col int
	Message   string
	// Limit means that the text exceeds a limit. Message then quotes nothing of the text.
	Limit bool
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Message) }

func failAt(line, col int, format string, args ...any) error {
	return &Error{Line: line, Col: col, Message: fmt.Sprintf(format, args...)}
}

func limitAt(line, col int, format string, args ...any) error {
	return &Error{Line: line, Col: col, Message: fmt.Sprintf(format, args...), Limit: true}
}

// Parse returns the syntax tree of a text. The error is an *Error.
func Parse(text string) (file *ast.File, err error) {
	if len(text) > MaxText {
		return nil, limitAt(1, 1, "the text has %d bytes: at most %d MB of YAML are read; JSON may be longer", len(text), MaxText>>20)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	defer func() { // the parser is not ours
		if r := recover(); r != nil {
			file, err = nil, failAt(1, 1, "invalid YAML")
		}
	}()
	tokens := withoutEmpty(lexer.Tokenize(text))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	if file, err = parser.Parse(tokens, 0); err != nil {
		return nil, yamlError(err)
	}
	return file, nil
}

// withoutEmpty leaves out the boundaries of empty documents. Behind an empty document, the parser
// (v1.19.2) loses all others without an error.
func withoutEmpty(tokens token.Tokens) token.Tokens {
	kept := make(token.Tokens, 0, len(tokens))
	boundary := -1 // the place in kept of a boundary without a value behind it
	for _, t := range tokens {
		switch t.Type {
		case token.DocumentHeaderType, token.DocumentEndType:
			if boundary >= 0 && t.Type == token.DocumentEndType {
				continue
			} else if boundary >= 0 {
				kept = slices.Delete(kept, boundary, boundary+1)
			}
			boundary = len(kept)
		case token.CommentType:
		default:
			boundary = -1
		}
		kept = append(kept, t)
	}
	return kept
}

// checkText checks the limits before the scanner, whose time and memory they bound.
func checkText(text string) error {
	marks, line, empty := 0, 1, 0
	for i := range len(text) {
		switch c := text[i]; c {
		case '\n':
			line++
			marks++
			if empty++; empty*len(text) > maxEmptyLines && empty > 1 {
				return limitAt(line, 1, "too many empty lines in a row: at most %d in a text of this length", maxEmptyLines/len(text)-1)
			}
		case ' ', '\t', '\r':
		case '[', ']', '{', '}', ',', ':', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '?', '<':
			marks++
			empty = 0
		case '-':
			if i+1 == len(text) || text[i+1] <= ' ' {
				marks++
			}
			empty = 0
		default:
			empty = 0
		}
		if marks > maxMarks {
			return limitAt(line, 1, "too many values: at most %d commas, brackets, colons, quotes and lines in a text; JSON may have more", maxMarks)
		}
	}
	return nil
}

// level is a list or a mapping in brackets.
type level struct {
	mapping bool
	value   bool // the last key has a value
}

// checkTokens checks the limits before the parser, whose time and stack they bound.
func checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		line, col := Place(tokens[maxTokens])
		return limitAt(line, col, "too many values: at most %d words and marks in a text; JSON may have more", maxTokens)
	}
	line, entries, empty, documents := 0, 0, 0, 0
	var flow []level
	for i, t := range tokens {
		at, col := Place(t)
		if isEmpty(tokens, i) {
			empty++
		}
		if empty > maxEmpty {
			return limitAt(at, col, "too many entries and keys without a value: at most %d", maxEmpty)
		}
		switch t.Type {
		case token.DocumentHeaderType:
			flow = nil
			if documents++; documents > maxDocuments {
				return limitAt(at, col, "too many documents in a text: at most %d", maxDocuments)
			}
		case token.MappingStartType, token.SequenceStartType:
			if flow = append(flow, level{mapping: t.Type == token.MappingStartType}); len(flow) > maxDepth {
				return limitAt(at, col, "values are nested too deep: at most %d levels", maxDepth)
			}
		case token.MappingValueType:
			if len(flow) > 0 {
				flow[len(flow)-1].value = true
			}
		case token.CollectEntryType, token.MappingEndType, token.SequenceEndType:
			if len(flow) == 0 {
				break
			}
			last := &flow[len(flow)-1]
			if last.mapping && !last.value && tokens[i-1].Type != token.MappingStartType { // {a}
				empty++
			}
			if last.value = false; t.Type != token.CollectEntryType {
				flow = flow[:len(flow)-1]
			}
		case token.SequenceEntryType:
			if at != line {
				line, entries = at, 0
			}
			if entries++; entries > maxEntries {
				return limitAt(at, col, "too many entries of lists on one line: at most %d", maxEntries)
			}
		}
	}
	if t := tooWide(tokens); t != nil {
		line, col := Place(t)
		return limitAt(line, col, "too many keys in one mapping: at most %d", MaxKeys)
	}
	return nil
}

// isEmpty reports whether the token at i begins a value that is not there. The parser moves all
// tokens to insert one for it.
func isEmpty(tokens token.Tokens, i int) bool {
	t := tokens[i]
	entry := t.Type == token.SequenceEntryType
	if !entry && t.Type != token.MappingValueType {
		return false
	}
	line, column := Place(t)
	if !entry && t.Prev != nil {
		_, column = Place(t.Prev) // of the key
	}
	for i++; i < len(tokens) && tokens[i].Type == token.CommentType; i++ { //nolint:revive // comments are skipped
	}
	if i == len(tokens) {
		return true
	}
	next := tokens[i]
	nextLine, nextColumn := Place(next)
	switch {
	case next.Type == token.CollectEntryType, next.Type == token.MappingEndType, next.Type == token.SequenceEndType:
		return true
	case nextLine == line || nextColumn > column:
		return false
	}
	return entry || nextColumn < column || next.Type != token.SequenceEntryType
}

// tooWide returns the first key of a mapping beyond MaxKeys; nil if there is none. The time of the
// parser grows with the square of the number of keys.
func tooWide(tokens token.Tokens) *token.Token {
	type mapping struct {
		column int // of the keys; 0 within brackets
		keys   int
	}
	open := []mapping{{}}
	// leave closes the mappings whose keys stand further to the right.
	leave := func(column int) {
		for open[len(open)-1].column > column {
			open = open[:len(open)-1]
		}
	}
	for _, t := range tokens {
		switch t.Type {
		case token.DocumentHeaderType, token.DocumentEndType:
			open = open[:1]
		case token.MappingStartType, token.SequenceStartType:
			open = append(open, mapping{})
		case token.MappingEndType, token.SequenceEndType:
			for len(open) > 1 && open[len(open)-1].column > 0 {
				open = open[:len(open)-1]
			}
			open = open[:max(1, len(open)-1)]
		case token.SequenceEntryType:
			leave(t.Position.Column)
		case token.MappingValueType:
			inBrackets := len(open) > 1 && open[len(open)-1].column == 0
			if !inBrackets && t.Prev != nil {
				column := t.Prev.Position.Column
				if leave(column); open[len(open)-1].column < column {
					open = append(open, mapping{column: column})
				}
			}
			m := &open[len(open)-1]
			if m.keys++; m.keys > MaxKeys {
				return t
			}
		}
	}
	return nil
}

// yamlError makes an error of the parser one line with a place. The parser's own text of it quotes
// what stands around the place, which takes long in a long line.
func yamlError(err error) error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) {
		return failAt(1, 1, "invalid YAML")
	}
	line, col := Place(at.GetToken())
	text, _, _ := strings.Cut(at.GetMessage(), "\n")
	return failAt(line, col, "invalid YAML: %s", text)
}

// Place returns where a token stands; the beginning of the text if that is not known.
func Place(t *token.Token) (line, col int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}
