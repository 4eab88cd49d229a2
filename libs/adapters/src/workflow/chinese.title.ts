/** What the page is called: the thing the first part asks for. */
export function readTitle(request: string): string {
  const first = request.trim().split(/[。！？!?\n，,：:；;（(]|\s+(?=字段|功能|包括|包含)/)[0] ?? '';
  const made =
    /^.*?(?:[做建创制開开写生设設搭弄来來要想写]).{0,8}?[一1]?(?:[个個份张張款套]|些)(?=.{2})/.exec(first)?.[0]
      .length ?? 0;
  const bare = first
    .slice(made)
    .replace(
      /^(?:请|麻烦|帮忙|帮我|给我|我们?|想要?|需要|创建|制作|开发|生成|设计|搭建|构建|建立|製作|開發|做|建|写|一个|一份|用来|用于|用於)+/,
      '',
    )
    .split(/(?:包含|包括|带有|带|可以|能够|用来|用于|需要|里面|字段|要求|其中|有(?=.{2}))/)[0];
  return (bare ?? '')
    .replace(/^(?:简单|小型|小小的|简洁|简易|在线|好看|漂亮|的|線上)+(?=.{2})/, '')
    .replace(/(?<=.{2})(?:的)?(?:网页|页面|小网页|網頁|頁面|网站|小页面|小网站|系统页面)$/, '')
    .trim()
    .replace(/^(?:简单的?|小)?(?:网页|页面|表单|系统|网站|应用|小程序|工具)$/, '')
    .slice(0, 24);
}
