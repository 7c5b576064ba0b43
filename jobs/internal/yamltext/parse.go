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

// MaxKeys is the number of keys in one mapping. It is far above what people write.
const MaxKeys = 10_000

// maxBrackets is how deep flow brackets may be in each other.
const maxBrackets = 20_000

// Error is an error with a place in the text.
type Error struct {
	// Line and Col count from 1.
	Line, Col int
	Message   string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Message) }

func failAt(line, col int, format string, args ...any) error {
	return &Error{line, col, fmt.Sprintf(format, args...)}
}

// Parse returns the syntax tree of a text. The error is an *Error.
func Parse(text string) (file *ast.File, err error) {
	if line := tooDeep(text); line > 0 {
		return nil, failAt(line, 1, "brackets are nested too deep")
	}
	defer func() { // the parser is not ours
		if r := recover(); r != nil {
			file, err = nil, failAt(1, 1, "invalid YAML")
		}
	}()
	tokens := withoutEmpty(lexer.Tokenize(text))
	if t := tooWide(tokens); t != nil {
		line, col := Place(t)
		return nil, failAt(line, col, "too many keys in one mapping: at most %d", MaxKeys)
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

// tooDeep returns the line at which flow brackets are nested absurdly deep, as only a hostile text
// has them; the parser would exhaust the stack. 0 means nowhere.
func tooDeep(text string) int {
	depth, line := 0, 1
	for _, r := range text {
		switch r {
		case '\n':
			line++
		case '[', '{':
			if depth++; depth > maxBrackets {
				return line
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return 0
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
