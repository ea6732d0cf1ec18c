package wire

// ItemFlags say what is about to happen to an entry, and how it differs (§6.2).
type ItemFlags uint16

const (
	ItemAtime     ItemFlags = 1 << 0
	ItemChange    ItemFlags = 1 << 1 // checksum, link target or device number differs
	ItemSize      ItemFlags = 1 << 2
	ItemTimeFail  ItemFlags = 1 << 2 // of a symbolic link: its time could not be set
	ItemTime      ItemFlags = 1 << 3
	ItemPerms     ItemFlags = 1 << 4
	ItemOwner     ItemFlags = 1 << 5
	ItemGroup     ItemFlags = 1 << 6
	ItemACL       ItemFlags = 1 << 7
	ItemXattr     ItemFlags = 1 << 8 // a request for values follows
	ItemCrtime    ItemFlags = 1 << 10
	ItemBasisType ItemFlags = 1 << 11 // Item.Basis is sent
	ItemName      ItemFlags = 1 << 12 // Item.Name is sent
	ItemNew       ItemFlags = 1 << 13
	ItemLocal     ItemFlags = 1 << 14 // the receiving side changes it by itself
	ItemTransfer  ItemFlags = 1 << 15 // content is wanted

	// ItemMissing is in the flags of a decoded item that came without, before 29;
	// it is never sent.
	ItemMissing ItemFlags = 1 << 9

	// ItemSignificant are the flags that tell of a difference.
	ItemSignificant = ^(ItemBasisType | ItemName | ItemLocal)

	// ItemKeepAlive are the flags of a keep-alive of protocol 29, whose index is
	// the number of entries.
	ItemKeepAlive = ItemNew
)

// Basis types (§6.2). Below 0x80 the basis is in the alternate directory of that number.
const (
	BasisDest    byte = 0x80 // the destination file; what is meant when nothing is sent
	BasisPartial byte = 0x81 // the file in the partial directory
	BasisBackup  byte = 0x82 // the backup just made
	BasisFuzzy   byte = 0x83 // Item.Name beside it; 0x84+n: in alternate directory n
)

// Item is what both sides say of an entry: the receiving one asks or tells, the
// sending one repeats it. Its index goes first, and xattr requests, the sum
// head and so on follow.
type Item struct {
	Flags ItemFlags
	Basis byte
	Name  string // of a fuzzy basis, or of what a hard link is linked to
}

// Item reads what follows an index that is an entry's.
func (r *Reader) Item() (Item, error) {
	if r.Protocol < 29 {
		return Item{Flags: ItemTransfer | ItemMissing, Basis: BasisDest}, r.done("item")
	}
	it := Item{Flags: ItemFlags(r.Short()) &^ ItemMissing, Basis: BasisDest}
	if it.Flags&ItemBasisType != 0 {
		it.Basis = r.Byte()
	}
	if it.Flags&ItemName != 0 {
		it.Name = r.Vstring(MaxPath-1, ExitProtocol, "item name")
	}
	return it, r.done("item")
}

// Item writes what follows an index. Before 29 that is nothing: every item is a
// request for content.
func (w *Writer) Item(it Item) {
	if w.Protocol < 29 {
		return
	}
	w.Short(uint16(it.Flags &^ ItemMissing))
	if it.Flags&ItemBasisType != 0 {
		w.Byte(it.Basis)
	}
	if it.Flags&ItemName != 0 {
		w.Vstring(it.Name)
	}
}
