package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// backup reads BACKUP and RESTORE, which the server does not execute.
func (p *parser) backup() syntax.Stmt {
	verb := p.next().Upper
	what := verb + " "
	switch {
	case p.atAny("DATABASE", "LOG"):
		what += p.next().Upper
		if p.current().Kind == scanner.Variable {
			p.next()
		} else {
			p.ident()
		}
	case verb == "RESTORE" && p.atAny("HEADERONLY", "FILELISTONLY", "VERIFYONLY", "LABELONLY", "REWINDONLY"):
		what += p.next().Upper
	case p.at("CERTIFICATE"), p.at("MASTER", "KEY"), p.at("SERVICE", "MASTER", "KEY"), p.at("SYMMETRIC", "KEY"):
		p.reject(what + p.words(false))
		return nil
	default:
		p.fail()
		return nil
	}
	if p.acceptAny("TO", "FROM") != "" {
		for {
			p.acceptAny("DISK", "URL", "TAPE", "VIRTUAL_DEVICE")
			p.accept("=")
			if p.current().Kind == scanner.Variable || p.current().IsName() {
				p.next()
			} else {
				p.secret()
			}
			if !p.accept(",") {
				break
			}
		}
	}
	if p.accept("WITH") {
		for {
			if p.accept("MOVE") {
				p.secret()
				p.expect("TO")
				p.secret()
			} else {
				p.option(false)
			}
			if !p.accept(",") {
				break
			}
		}
	}
	return &syntax.UnsupportedStmt{What: what}
}

// dbcc reads DBCC.
func (p *parser) dbcc() syntax.Stmt {
	p.expect("DBCC")
	t := p.current()
	if t.Kind != scanner.Word {
		p.fail()
		return nil
	}
	p.next()
	s := &syntax.DBCCStmt{Command: t.Upper}
	if p.accept("(") {
		for !p.at(")") {
			switch t := p.current(); {
			case t.IsName(), t.Kind == scanner.Word && !t.Is("NULL"):
				e := p.here()
				if t.IsName() && p.peek(1).Is(".") {
					s.Args = append(s.Args, &syntax.ColumnRef{At: e, Parts: p.parts("object")})
				} else {
					p.next()
					s.Args = append(
						s.Args,
						&syntax.ColumnRef{At: e, Parts: []syntax.Ident{{Name: t.Text, Quoted: t.Kind == scanner.Quoted, At: t.At}}},
					)
				}
			default:
				s.Args = append(s.Args, p.expr())
			}
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	if p.accept("WITH") {
		s.Options = p.optionList(false)
	}
	return s
}

// kill reads KILL.
func (p *parser) kill() syntax.Stmt {
	p.expect("KILL")
	if p.at("STATS", "JOB") || p.at("QUERY", "NOTIFICATION") {
		p.reject("KILL " + p.current().Upper)
		return nil
	}
	s := &syntax.KillStmt{Session: p.expr()}
	s.StatusOnly = p.accept("WITH", "STATUSONLY")
	return s
}
