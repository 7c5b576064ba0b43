package hostile

import (
	"bytes"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"
)

// Mode is one kind of hostile or broken server.
type Mode struct {
	// Name is the name of the subtest.
	Name string
	// Serve serves one client until the connection ends.
	Serve func(*Conn) error
}

// Healthy is a server that answers every script with a result set.
var Healthy = Mode{"healthy", func(c *Conn) error {
	if err := c.Login(); err != nil {
		return err
	}
	for {
		r, err := c.Next()
		if err != nil {
			return err
		}
		if r.Own() || r.Type == PacketAttention {
			err = c.Own(r)
		} else {
			err = c.Answer(Ints(2), IntRow(1, 2), Done(0x10, 1))
		}
		if err != nil {
			return err
		}
	}
}}

// Of returns the mode that answers with a stream.
func Of(s Stream) Mode {
	return Mode{s.Name, func(c *Conn) error {
		c.size = 32767
		if !s.Login {
			return thenWait(c, c.Script, func() error { return c.Answer(s.Answer) })
		}
		return thenWait(c, func() error {
			for {
				r, err := c.Next()
				if err != nil || r.Type == packetLogin {
					return err
				}
				if err := c.Answer(prelogin); err != nil {
					return err
				}
			}
		}, func() error { return c.Answer(s.Answer) })
	}}
}

// thenWait executes the steps, and then sends nothing more.
func thenWait(c *Conn, steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return c.Wait()
}

// forever answers a script with an endless sequence of parts, and ignores requests.
func forever(first []byte, part []byte) func(*Conn) error {
	return func(c *Conn) error {
		if err := c.Script(); err != nil {
			return err
		}
		if err := c.Begin(first); err != nil {
			return err
		}
		part = bytes.Repeat(part, max(1, 64<<10/len(part)))
		for {
			if err := c.Begin(part); err != nil {
				return err
			}
			if err := c.rest(); err != nil {
				return err
			}
		}
	}
}

// endless returns the mode of forever.
func endless(name string, first, part []byte) Mode {
	return Mode{name, func(c *Conn) error { return forever(first, bytes.Clone(part))(c) }}
}

// answers returns a mode that accepts the login, answers the identity query truthfully, does not
// answer the script, and gives the same answer to all other queries of the agent.
func answers(name string, answer ...[]byte) Mode {
	return Mode{name, func(c *Conn) error {
		if err := c.Login(); err != nil {
			return err
		}
		for {
			r, err := c.Next()
			if err != nil {
				return err
			}
			switch {
			case r.Identity():
				err = c.Own(r)
			case r.Own():
				err = c.Answer(answer...)
			}
			if err != nil {
				return err
			}
		}
	}}
}

// claims returns a mode that accepts the login and gives the answer to the identity query.
func claims(name string, answer ...[]byte) Mode {
	return Mode{name, func(c *Conn) error {
		return thenWait(c, c.Login, func() error {
			if _, err := c.Next(); err != nil {
				return err
			}
			return c.Answer(answer...)
		})
	}}
}

// Modes returns all modes except those of Streams.
func Modes() []Mode { return slices.Concat(loginModes, answerModes(), queryModes()) }

// more is the bit of DONE that says that another result follows.
const more = uint16(1)

// chunk is a part of a value whose length is unknown.
var chunk = join(uint32(60000), make([]byte, 60000))

// text returns a text of n characters.
func text(n int) string { return strings.Repeat("x", n) }

// loginModes misbehave before or during the login.
var loginModes = []Mode{
	{"silent", func(c *Conn) error { return c.Wait() }},
	{"unresponsive", func(c *Conn) error { return thenWait(c, c.Script) }},
	{"trickle", func(c *Conn) error {
		if _, err := c.Next(); err != nil {
			return err
		}
		for _, b := range bytes.Repeat([]byte{4, 0, 16, 0, 0, 0, 1, 0}, 1000) {
			if _, err := c.Write([]byte{b}); err != nil {
				return err
			}
			if err := c.Sleep(100 * time.Millisecond); err != nil {
				return err
			}
		}
		return c.Wait()
	}},
	{"empty packets", func(c *Conn) error {
		for {
			if err := c.Packet(0, nil); err != nil {
				return err
			}
		}
	}},
	{"garbage", func(c *Conn) error {
		seeded := rand.New(rand.NewPCG(1, 2))
		b := make([]byte, 4096)
		for {
			for i := range b {
				b[i] = byte(seeded.Uint32())
			}
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
	}},
	{"HTTP", func(c *Conn) error {
		if _, err := c.Next(); err != nil {
			return err
		}
		_, err := c.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		return err
	}},
	{"reset", func(c *Conn) error {
		if t, ok := c.Conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		return nil
	}},
	{"endless PRELOGIN", func(c *Conn) error {
		for {
			if err := c.Packet(0, make([]byte, 4000)); err != nil {
				return err
			}
		}
	}},
	{"PRELOGIN without an encryption", func(c *Conn) error {
		return thenWait(c, func() error { return c.Answer([]byte{1, 0, 6, 0, 0, 0xFF, 0}) })
	}},
	{"PRELOGIN outside of itself", func(c *Conn) error {
		return thenWait(c, func() error { return c.Answer([]byte{1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0}) })
	}},
	{"PRELOGIN without options", func(c *Conn) error {
		return thenWait(c, func() error { return c.Answer(make([]byte, 40)) })
	}},
	{"login refused", func(c *Conn) error {
		for {
			r, err := c.Next()
			if err != nil {
				return err
			}
			answer := prelogin
			if r.Type == packetLogin {
				answer = join(Message(18456, 14, "Login failed for user 'sa'."), Done(2, 0))
			}
			if err := c.Answer(answer); err != nil {
				return err
			}
		}
	}},
	{"login unanswered", func(c *Conn) error {
		if _, err := c.Next(); err != nil {
			return err
		}
		return thenWait(c, func() error { return c.Answer(prelogin) })
	}},
	{"login without an end", func(c *Conn) error { // DONE after DONE, and no LOGINACK
		if _, err := c.Next(); err != nil {
			return err
		}
		if err := c.Answer(prelogin); err != nil {
			return err
		}
		for {
			if err := c.Answer(Done(0, 0)); err != nil {
				return err
			}
			if err := c.rest(); err != nil {
				return err
			}
		}
	}},
	{"redirect in a circle", func(c *Conn) error {
		for {
			r, err := c.Next()
			if err != nil {
				return err
			}
			answer := prelogin
			if r.Type == packetLogin {
				answer = join(env(20, uint16(9), 0, uint16(1433), uint16(4), "self", uint16(0)), loginAck, Done(0, 0))
			}
			if err := c.Answer(answer); err != nil {
				return err
			}
		}
	}},
	{"closes after the script", func(c *Conn) error { return c.Script() }},
}

// answerModes returns modes that misbehave in the answer to a script.
func answerModes() []Mode {
	return []Mode{
		endless("messages", nil, join(Message(0, 0, "again"), Done(more, 0))),
		endless("messages of 30 KB", nil, Message(0, 0, text(15000))),
		endless("messages of 60 KB", nil, Message(0, 0, text(30000))),
		endless("errors", nil, join(Message(50000, 16, "again"), Done(more|2, 0))),
		endless("errors without DONE", nil, Message(50000, 16, text(2000))),
		endless("row counts", nil, Done(more|0x10, 1<<63)),
		endless("result sets", nil, join(Ints(1), IntRow(1), Done(more|0x10, 1))),
		endless("rows", Ints(1), IntRow(1)),
		endless("ORDER", Ints(4), join(0xA9, uint16(8), make([]byte, 8))),
		endless("return statuses", nil, join(0x79, uint32(0))),
		endless("environment changes", nil, env(2, 4, "lang", 0)),
		endless("wide result sets", nil, join(wide(4096), Done(more, 0))),
		endless("null rows of a wide result set", wide(4096), join(0xD2, bytes.Repeat([]byte{0xFF}, 512))),
		endless("hugeplp", join(maxText, 0xD1, unknownLength), chunk),
		endless("a value of 2 GB", join(maxText, 0xD1, uint64(0x7FFFFFFE)), chunk),
		endless("an image of 2 GB", join(column(0x22, uint32(0x7FFFFFFF), 0), 0xD1, 16, make([]byte, 24), uint32(0x7FFFFFFF)), make([]byte, 60000)),
		endless("values of 1 MB", maxText, join(0xD1, uint64(1<<20), uint32(1<<20), make([]byte, 1<<20), uint32(0))),
		{"trickling value", func(c *Conn) error {
			if err := c.Script(); err != nil {
				return err
			}
			if err := c.Begin(join(maxText, 0xD1, unknownLength)); err != nil {
				return err
			}
			for {
				if err := c.Begin(join(uint32(2), "x")); err != nil {
					return err
				}
				if err := c.Sleep(50 * time.Millisecond); err != nil {
					return err
				}
			}
		}},
		{"held value", func(c *Conn) error { // as much as the client accepts, and then nothing
			return thenWait(c, c.Script, func() error {
				return c.Begin(join(maxText, 0xD1, uint64(7<<20), uint32(7<<20), make([]byte, 6<<20)))
			})
		}},
		{"closes in a result set", func(c *Conn) error {
			if err := c.Script(); err != nil {
				return err
			}
			return c.Begin(join(Ints(1), IntRow(1), IntRow(2)))
		}},
		{"ignores attention", func(c *Conn) error { return thenWait(c, c.Script, func() error { return c.Begin(Ints(1)) }) }},
		{"acknowledges, and goes on", func(c *Conn) error {
			if err := c.Script(); err != nil {
				return err
			}
			for {
				if err := c.Begin(join(Message(0, 0, text(500)), Done(more, 0))); err != nil {
					return err
				}
				if c.Attention() {
					if err := c.Answer(Done(0x20, 0)); err != nil {
						return err
					}
				}
				if err := c.rest(); err != nil {
					return err
				}
			}
		}},
		{"packet numbers and session ids at random", func(c *Conn) error {
			if err := c.Script(); err != nil {
				return err
			}
			for i := range 200 {
				c.spid, c.id = uint16(i*7919), byte(i*101)
				if err := c.Begin(Message(0, 0, "again")); err != nil {
					return err
				}
			}
			if err := c.Answer(Done(0, 0)); err != nil {
				return err
			}
			return c.Wait()
		}},
		{"one byte at a time", func(c *Conn) error {
			return thenWait(c, c.Script, func() error {
				for _, b := range join(Ints(2), IntRow(1, 2)) {
					if err := c.Packet(0, []byte{b}); err != nil {
						return err
					}
				}
				return c.Answer(Done(0x10, 1))
			})
		}},
		{"packets of the wrong type", func(c *Conn) error {
			return thenWait(c, c.Script, func() error {
				_, err := c.Write([]byte{0x01, 1, 0, 21, 0, 0, 1, 0, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
				return err
			})
		}},
		{"packets larger than agreed", func(c *Conn) error {
			return thenWait(c, c.Script, func() error {
				c.size = 65535
				return c.Answer(bytes.Repeat(Done(more, 0), 5000), Done(0, 0))
			})
		}},
		{"an answer behind the answer", func(c *Conn) error { // a second message in the same packet, and stale bytes after it
			return thenWait(c, c.Script, func() error {
				if err := c.Answer(Done(0, 0), join(0xEE, uint32(8), uint32(0xFFFFFFFF), uint32(0))); err != nil {
					return err
				}
				return c.Packet(1, nil)
			})
		}},
		{"names of 255 characters, numbers out of range", func(c *Conn) error {
			name := join(255, text(255))
			body := join(uint32(0x80000000), 255, 255, uint16(3), uint16(0), uint16(0xD800), uint16(0xFFFF), name, name, uint32(0x80000000))
			return thenWait(c, c.Script, func() error {
				return c.Answer(join(0xAA, uint16(len(body)), body), Done(2|0x10, 1<<64-1))
			})
		}},
	}
}

// queryModes returns modes that misbehave in the answers to the agent's own queries.
func queryModes() []Mode {
	return []Mode{
		answers("a session that never ends", Ints(1), IntRow(1), Done(0x10, 1)),
		answers("more columns than asked for", Ints(9), IntRow(1, 2, 3, 4, 5, 6, 7, 8, 9), Done(0x10, 1)),
		answers("other types than asked for", maxText, join(0xD1, uint64(2), uint32(2), "x", uint32(0)), Done(0x10, 1)),
		answers("more rows than asked for", Ints(1), IntRow(1), IntRow(1), Done(0x10, 2)),
		answers("more sets than asked for", Ints(1), IntRow(1), Done(more|0x10, 1), Ints(3), IntRow(1, 2, 3), Done(0x10, 1)),
		answers("no rows", Ints(1), Done(0x10, 0)),
		answers("no result set", Done(0, 0)),
		claims("identity of fewer columns", Ints(1), IntRow(1), Done(0x10, 1)),
		claims("identity of other types", Ints(6), IntRow(1, 2, 3, 4, 5, 6), Done(0x10, 1)),
		claims("identity refused", Message(229, 14, "no"), Done(2, 0)),
		answers("a huge answer", join(maxText, 0xD1, uint64(4<<20), uint32(4<<20), make([]byte, 4<<20), uint32(0)), Done(0x10, 1)),
	}
}

// wide returns the COLMETADATA of n columns of VARCHAR(8000).
func wide(n int) []byte {
	b := join(0x81, uint16(n))
	one := join(uint32(0), uint16(1), 0xA7, uint16(8000), uint32(0x409), 0x34, 1, "c")
	return append(b, bytes.Repeat(one, n)...)
}
