// Package acceptor verifies the Kerberos tickets of callers with the keys of a keytab, and answers
// with the server's own proof (RFC 4120, RFC 4121, RFC 4178). The REST front accepts tickets so
// (RFC 4559), and the embedded server logins with integrated authentication.
package acceptor

import (
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/service"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// maxSkew is the difference of clocks that is allowed (RFC 4120 1.3, the default of Windows).
const maxSkew = 5 * time.Minute

// Verifier verifies tickets with the keys of a keytab. Safe for concurrent use.
type Verifier struct{ keys *keytab.Keytab }

// Load returns the verifier of a keytab.
func Load(path string) (*Verifier, error) {
	var keys *keytab.Keytab
	err := safely(func() (err error) {
		keys, err = keytab.Load(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read keytab: %w", err)
	}
	if len(keys.Entries) == 0 {
		return nil, fmt.Errorf("keytab %s has no key: export the key of the service, such as MSSQLSvc/host:port or HTTP/host", path)
	}
	return &Verifier{keys: keys}, nil
}

// Accepted is the result of a verified ticket.
type Accepted struct {
	User, Realm string
	// Foreign says that Realm is not the server's own: a trusted realm may share its first label.
	Foreign bool
	// Answer is the token for the client, empty if it asked for none.
	Answer []byte
}

// Accept verifies a client's token. The error is for the operator, not for the client.
func (v *Verifier) Accept(token []byte) (a Accepted, err error) {
	err = safely(func() (err error) {
		a, err = v.accept(token)
		return err
	})
	return a, err
}

// safely runs f. The library panics on damaged data.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged data: %v", r)
		}
	}()
	return f()
}

// accept implements Accept.
func (v *Verifier) accept(token []byte) (Accepted, error) {
	var outer spnego.SPNEGOToken
	if err := outer.Unmarshal(token); err != nil {
		return Accepted{}, fmt.Errorf("read SPNEGO token: %w", err)
	}
	if !outer.Init || len(outer.NegTokenInit.MechTypes) == 0 {
		return Accepted{}, errors.New("the token does not begin a negotiation")
	}
	mechanism := outer.NegTokenInit.MechTypes[0]
	if !mechanism.Equal(gssapi.OIDKRB5.OID()) && !mechanism.Equal(gssapi.OIDMSLegacyKRB5.OID()) {
		return Accepted{}, fmt.Errorf("the client prefers the mechanism %v: want Kerberos", mechanism)
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(outer.NegTokenInit.MechTokenBytes); err != nil {
		return Accepted{}, fmt.Errorf("read Kerberos token: %w", err)
	}
	if !inner.IsAPReq() {
		return Accepted{}, errors.New("the Kerberos token is not an AP-REQ")
	}
	// A PAC has rights of Active Directory, which this server has no use for.
	settings := service.NewSettings(v.keys, service.MaxClockSkew(maxSkew), service.DecodePAC(false))
	ok, client, err := service.VerifyAPREQ(&inner.APReq, settings)
	if err != nil {
		return Accepted{}, fmt.Errorf("verify ticket for %s: %w", inner.APReq.Ticket.SName.PrincipalNameString(), err)
	}
	if !ok {
		return Accepted{}, errors.New("the ticket is not valid")
	}
	a := Accepted{User: client.CName().PrincipalNameString(), Realm: client.Domain(), Foreign: client.Domain() != inner.APReq.Ticket.Realm}
	if types.IsFlagSet(&inner.APReq.APOptions, flags.APOptionMutualRequired) {
		if a.Answer, err = answer(&inner.APReq, mechanism); err != nil {
			return Accepted{}, fmt.Errorf("answer the ticket: %w", err)
		}
	}
	return a, nil
}

// apRep is KRB_AP_REP without its application tag (RFC 4120 5.5.2), in the order that the library
// marshals.
type apRep struct {
	PVNO    int                 `asn1:"explicit,tag:0"`
	MsgType int                 `asn1:"explicit,tag:1"`
	EncPart types.EncryptedData `asn1:"explicit,tag:2"`
}

// encAPRepPart is the encrypted part of KRB_AP_REP, without a key or a sequence number.
type encAPRepPart struct {
	CTime time.Time `asn1:"generalized,explicit,tag:0"`
	Cusec int       `asn1:"explicit,tag:1"`
}

// answer returns the SPNEGO token with the AP-REP to a verified request.
func answer(request *messages.APReq, mechanism asn1.ObjectIdentifier) ([]byte, error) {
	plain, err := asn1.Marshal(encAPRepPart{CTime: request.Authenticator.CTime, Cusec: request.Authenticator.Cusec})
	if err != nil {
		return nil, err
	}
	plain = asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart)
	sealed, err := crypto.GetEncryptedData(plain, request.Ticket.DecryptedEncPart.Key, keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		return nil, err
	}
	reply, err := asn1.Marshal(apRep{PVNO: iana.PVNO, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	if err != nil {
		return nil, err
	}
	// RFC 4121 4.1: the mechanism, the token's kind (02 00), the message.
	header, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return nil, err
	}
	inner := append(append(header, 2, 0), asn1tools.AddASNAppTag(reply, asnAppTag.APREP)...)
	outer := spnego.NegTokenResp{
		NegState: asn1.Enumerated(spnego.NegStateAcceptCompleted), SupportedMech: mechanism,
		ResponseToken: asn1tools.AddASNAppTag(inner, 0),
	}
	return outer.Marshal()
}
