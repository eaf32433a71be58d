// What is shown instead of a page that the service does not give.

import { instantiate, setText } from "./dom.js";

export class MissingPage {
  constructor(reason) {
    const { content, parts } = instantiate("missing-page");
    this.content = content;
    setText(parts.reason, reason);
    document.title = "Nothing here · linkedbandits";
  }
}
