package syntax

// backup reads BACKUP and RESTORE, which the server does not execute.
func (p *parser) backup() Stmt {
	verb := p.next().upper
	what := verb + " "
	switch {
	case p.atAny("DATABASE", "LOG"):
		what += p.next().upper
		if p.current().kind == tokVar {
			p.next()
		} else {
			p.ident()
		}
	case verb == "RESTORE" && p.atAny("HEADERONLY", "FILELISTONLY", "VERIFYONLY", "LABELONLY", "REWINDONLY"):
		what += p.next().upper
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
			if p.current().kind == tokVar || atIdent(p.current()) {
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
	return &UnsupportedStmt{What: what}
}

// dbcc reads DBCC.
func (p *parser) dbcc() Stmt {
	p.expect("DBCC")
	t := p.current()
	if t.kind != tokWord {
		p.fail()
		return nil
	}
	p.next()
	s := &DBCCStmt{Command: t.upper}
	if p.accept("(") {
		for p.err == nil && !p.at(")") {
			switch t := p.current(); {
			case atIdent(t), t.kind == tokWord && !t.is("NULL"):
				e := p.here()
				if atIdent(t) && p.peek(1).is(".") {
					s.Args = append(s.Args, &ColumnRef{At: e, Parts: p.parts("object")})
				} else {
					p.next()
					s.Args = append(
						s.Args,
						&ColumnRef{At: e, Parts: []Ident{{Name: t.text, Quoted: t.kind == tokQuoted, At: t.at}}},
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
func (p *parser) kill() Stmt {
	p.expect("KILL")
	if p.at("STATS", "JOB") || p.at("QUERY", "NOTIFICATION") {
		p.reject("KILL " + p.current().upper)
		return nil
	}
	s := &KillStmt{Session: p.expr()}
	s.StatusOnly = p.accept("WITH", "STATUSONLY")
	return s
}
