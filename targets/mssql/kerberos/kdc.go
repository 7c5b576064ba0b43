package kerberos

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/jcmturner/gofork/encoding/asn1"
)

// asn1OID is the type of object identifiers in the library's structures.
type asn1OID = asn1.ObjectIdentifier

// maxAnswer bounds a KDC's answer in bytes. An error has some hundred.
const maxAnswer = 64 << 10

// readKDC reads a message of Kerberos over TCP (RFC 4120 7.2.2).
func readKDC(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxAnswer {
		return nil, errors.New("the KDC's answer is too long")
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(r, answer)
	return answer, err
}
