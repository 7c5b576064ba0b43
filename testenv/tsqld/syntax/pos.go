package syntax

// Pos is a position in the source of a batch. Nodes that were not parsed have the zero Pos.
type Pos struct {
	Line   int32 // from 1
	Column int32 // in bytes, from 1
	Offset int32 // in bytes, from 0
}

// Node is a node of the syntax tree.
type Node interface {
	// Pos returns the position of the node's first token; for an infix operator, that of its left
	// operand.
	Pos() Pos
}

// At is the position of a node. Every node that is not a statement embeds it.
type At struct{ pos Pos }

// AtPos returns the At of a node at p.
func AtPos(p Pos) At { return At{p} }

// Pos implements [Node].
func (a At) Pos() Pos { return a.pos }

// stmt is embedded in every statement.
type stmt struct {
	at    Pos
	end   int32
	words [2]string
}

// Pos implements [Node].
func (s *stmt) Pos() Pos { return s.at }

// Start returns the byte offset of the statement's first token in the batch's source.
func (s *stmt) Start() int { return int(s.at.Offset) }

// End returns the byte offset after the statement's last token, without its semicolon.
func (s *stmt) End() int { return int(s.end) }

// Words returns the first two words of the statement in capitals, with "" for a token of another
// kind.
func (s *stmt) Words() [2]string { return s.words }

// SetExtent implements [Stmt].
func (s *stmt) SetExtent(at Pos, end int32, words [2]string) { s.at, s.end, s.words = at, end, words }

// stmtNode marks statements.
func (s *stmt) stmtNode() {}

// Stmt is a statement. Batch.Source[s.Start():s.End()] is its text.
type Stmt interface {
	Node
	Start() int
	End() int
	Words() [2]string
	// SetExtent records the position of the statement: that of its first token, the offset after
	// its last token, and its first two words. Only the parser calls it.
	SetExtent(at Pos, end int32, words [2]string)
	stmtNode()
}

// Batch is the tree of one batch.
type Batch struct {
	Source string // the parsed text; positions are offsets into it
	Stmts  []Stmt // in source order; empty for a batch of comments and semicolons
	Bytes  int    // approximate memory of the text and the tree
}

// Pos returns the position of the first statement.
func (b *Batch) Pos() Pos {
	if len(b.Stmts) == 0 {
		return Pos{Line: 1, Column: 1}
	}
	return b.Stmts[0].Pos()
}
