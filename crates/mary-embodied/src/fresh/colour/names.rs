//! The named colours of CSS Color Module Level 4 and their sRGB values.
//!
//! Doubles (aqua, fuchsia, the second spelling of gray) are in once. "dark gray" and "dark sea green"
//! are left out: both are lighter than their names say.

use std::sync::OnceLock;

use super::space::{Lab, cielab, oklab};

/// A named colour in all the spaces we use.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// As people write it.
    pub name: &'static str,
    /// Its sRGB value.
    pub rgb: [u8; 3],
    /// In OKLab.
    pub ok: Lab,
    /// In CIELAB.
    pub cie: Lab,
}

/// All of them.
pub fn named() -> &'static [Named] {
    static NAMED: OnceLock<Vec<Named>> = OnceLock::new();
    NAMED.get_or_init(|| {
        TABLE
            .iter()
            .map(|&(name, hex)| {
                let [_, r, g, b] = u32::to_be_bytes(hex);
                let rgb = [r, g, b];
                Named {
                    name,
                    rgb,
                    ok: oklab(rgb),
                    cie: cielab(rgb),
                }
            })
            .collect()
    })
}

#[rustfmt::skip]
const TABLE: &[(&str, u32)] = &[
    ("alice blue", 0x00f0_f8ff),
    ("antique white", 0x00fa_ebd7),
    ("aquamarine", 0x007f_ffd4),
    ("azure", 0x00f0_ffff),
    ("beige", 0x00f5_f5dc),
    ("bisque", 0x00ff_e4c4),
    ("black", 0x0000_0000),
    ("blanched almond", 0x00ff_ebcd),
    ("blue", 0x0000_00ff),
    ("blue violet", 0x008a_2be2),
    ("brown", 0x00a5_2a2a),
    ("burlywood", 0x00de_b887),
    ("cadet blue", 0x005f_9ea0),
    ("chartreuse", 0x007f_ff00),
    ("chocolate", 0x00d2_691e),
    ("coral", 0x00ff_7f50),
    ("cornflower blue", 0x0064_95ed),
    ("cornsilk", 0x00ff_f8dc),
    ("crimson", 0x00dc_143c),
    ("cyan", 0x0000_ffff),
    ("dark blue", 0x0000_008b),
    ("dark cyan", 0x0000_8b8b),
    ("dark goldenrod", 0x00b8_860b),
    ("dark green", 0x0000_6400),
    ("dark khaki", 0x00bd_b76b),
    ("dark magenta", 0x008b_008b),
    ("dark olive green", 0x0055_6b2f),
    ("dark orange", 0x00ff_8c00),
    ("dark orchid", 0x0099_32cc),
    ("dark red", 0x008b_0000),
    ("dark salmon", 0x00e9_967a),
    ("dark slate blue", 0x0048_3d8b),
    ("dark slate gray", 0x002f_4f4f),
    ("dark turquoise", 0x0000_ced1),
    ("dark violet", 0x0094_00d3),
    ("deep pink", 0x00ff_1493),
    ("deep sky blue", 0x0000_bfff),
    ("dim gray", 0x0069_6969),
    ("dodger blue", 0x001e_90ff),
    ("firebrick", 0x00b2_2222),
    ("floral white", 0x00ff_faf0),
    ("forest green", 0x0022_8b22),
    ("gainsboro", 0x00dc_dcdc),
    ("ghost white", 0x00f8_f8ff),
    ("gold", 0x00ff_d700),
    ("goldenrod", 0x00da_a520),
    ("gray", 0x0080_8080),
    ("green", 0x0000_8000),
    ("green yellow", 0x00ad_ff2f),
    ("honeydew", 0x00f0_fff0),
    ("hot pink", 0x00ff_69b4),
    ("indian red", 0x00cd_5c5c),
    ("indigo", 0x004b_0082),
    ("ivory", 0x00ff_fff0),
    ("khaki", 0x00f0_e68c),
    ("lavender", 0x00e6_e6fa),
    ("lavender blush", 0x00ff_f0f5),
    ("lawn green", 0x007c_fc00),
    ("lemon chiffon", 0x00ff_facd),
    ("light blue", 0x00ad_d8e6),
    ("light coral", 0x00f0_8080),
    ("light cyan", 0x00e0_ffff),
    ("light goldenrod yellow", 0x00fa_fad2),
    ("light gray", 0x00d3_d3d3),
    ("light green", 0x0090_ee90),
    ("light pink", 0x00ff_b6c1),
    ("light salmon", 0x00ff_a07a),
    ("light sea green", 0x0020_b2aa),
    ("light sky blue", 0x0087_cefa),
    ("light slate gray", 0x0077_8899),
    ("light steel blue", 0x00b0_c4de),
    ("light yellow", 0x00ff_ffe0),
    ("lime", 0x0000_ff00),
    ("lime green", 0x0032_cd32),
    ("linen", 0x00fa_f0e6),
    ("magenta", 0x00ff_00ff),
    ("maroon", 0x0080_0000),
    ("medium aquamarine", 0x0066_cdaa),
    ("medium blue", 0x0000_00cd),
    ("medium orchid", 0x00ba_55d3),
    ("medium purple", 0x0093_70db),
    ("medium sea green", 0x003c_b371),
    ("medium slate blue", 0x007b_68ee),
    ("medium spring green", 0x0000_fa9a),
    ("medium turquoise", 0x0048_d1cc),
    ("medium violet red", 0x00c7_1585),
    ("midnight blue", 0x0019_1970),
    ("mint cream", 0x00f5_fffa),
    ("misty rose", 0x00ff_e4e1),
    ("moccasin", 0x00ff_e4b5),
    ("navajo white", 0x00ff_dead),
    ("navy", 0x0000_0080),
    ("old lace", 0x00fd_f5e6),
    ("olive", 0x0080_8000),
    ("olive drab", 0x006b_8e23),
    ("orange", 0x00ff_a500),
    ("orange red", 0x00ff_4500),
    ("orchid", 0x00da_70d6),
    ("pale goldenrod", 0x00ee_e8aa),
    ("pale green", 0x0098_fb98),
    ("pale turquoise", 0x00af_eeee),
    ("pale violet red", 0x00db_7093),
    ("papaya whip", 0x00ff_efd5),
    ("peach puff", 0x00ff_dab9),
    ("peru", 0x00cd_853f),
    ("pink", 0x00ff_c0cb),
    ("plum", 0x00dd_a0dd),
    ("powder blue", 0x00b0_e0e6),
    ("purple", 0x0080_0080),
    ("rebecca purple", 0x0066_3399),
    ("red", 0x00ff_0000),
    ("rosy brown", 0x00bc_8f8f),
    ("royal blue", 0x0041_69e1),
    ("saddle brown", 0x008b_4513),
    ("salmon", 0x00fa_8072),
    ("sandy brown", 0x00f4_a460),
    ("sea green", 0x002e_8b57),
    ("seashell", 0x00ff_f5ee),
    ("sienna", 0x00a0_522d),
    ("silver", 0x00c0_c0c0),
    ("sky blue", 0x0087_ceeb),
    ("slate blue", 0x006a_5acd),
    ("slate gray", 0x0070_8090),
    ("snow", 0x00ff_fafa),
    ("spring green", 0x0000_ff7f),
    ("steel blue", 0x0046_82b4),
    ("tan", 0x00d2_b48c),
    ("teal", 0x0000_8080),
    ("thistle", 0x00d8_bfd8),
    ("tomato", 0x00ff_6347),
    ("turquoise", 0x0040_e0d0),
    ("violet", 0x00ee_82ee),
    ("wheat", 0x00f5_deb3),
    ("white", 0x00ff_ffff),
    ("white smoke", 0x00f5_f5f5),
    ("yellow", 0x00ff_ff00),
    ("yellow green", 0x009a_cd32),
];
